"""`run.py --action_space`: what an agent at points is asked, what it does, and what its trajectory keeps of that."""

import asyncio
import json
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from collection.agent.chat_policy import ChatPolicy
from collection.agent.policy import Sampling
from collection.campaign.accounting import check_action_space
from collection.config.commands import RunConfig
from common.errors import UserError
from data.action_spaces import NUMBERS
from data.conversation import StepText
from data.task import Task
from data.trajectory import read_trajectory
from tests.collection.collector import Collector, task


def test_an_agent_acts_at_points(collector: Collector, site: ThreadingHTTPServer, url: str) -> None:
    script = "click(point='<point>30 70</point>') | fly() | finished(content='the second page')"
    flags = {"api_localhost": f"{url}/predict", "action_space": "ui_tars"}
    done = collector.run([task(1, f"{url}/", script)], **flags)
    assert done.returncode == 0, done.stderr
    trajectory = read_trajectory(collector.results / "taskT--1")
    assert trajectory.answer == "the second page" and trajectory.provenance["action_space"] == "ui_tars"
    first, second, last = trajectory.steps
    assert first.actions == [
        {
            "space": "ui_tars",
            "kind": "ClickAt",
            "coordinates": "px_resized(1036,756)",
            "model": [[30.0, 70.0]],
            "css": [[pytest.approx(30 / 1036 * 1024), pytest.approx(70 / 756 * 768)]],
            "viewport": [1024, 768],
            "screenshot": [1024, 768],
            "arguments": {"button": "left", "count": 1},
        }
    ]
    assert second.feedback == f'Clicked <a> "Next page". The tab is at {url}/second now.' and second.actions == []
    assert last.feedback.startswith("Format error") and last.actions[0]["kind"] == "Answer"
    assert first.shown == f"Tabs of the browser:\n0, in front: {url}/"
    assert "link 'Next page'" in trajectory.trees[0]  # kept, for those who convert it, and not shown
    assert [text.tree for text in trajectory.texts()] == [step.shown for step in trajectory.steps]
    other = collector.run([task(2, f"{url}/", script)], api_localhost=f"{url}/predict")
    said = f"{collector.results} was collected with --action_space ui_tars; give another --output_dir"
    assert other.returncode == 2 and said in other.stderr
    asked = json.dumps(site.requests[1]["conversations"])
    assert "RootWebArea" not in asked and "Clicked <a>" in asked and len(site.requests[1]["images"]) == 1


def test_openwebvoyagers_released_folders_are_of_element_numbers(tmp_path: Path) -> None:
    """They are complete by their messages, and have no trajectory.json."""
    (tmp_path / "taskT--1").mkdir()
    (tmp_path / "taskT--1" / "interact_messages.json").write_text("[]")
    check_action_space(tmp_path, NUMBERS)
    with pytest.raises(UserError, match=f"was collected with --action_space {NUMBERS}"):
        check_action_space(tmp_path, "ui_tars")


@pytest.mark.parametrize("provenance", [None, [], "unknown"])
def test_a_provenance_of_an_odd_type_names_no_space(tmp_path: Path, provenance: object) -> None:
    (tmp_path / "taskT--1").mkdir()
    (tmp_path / "taskT--1" / "trajectory.json").write_text(json.dumps({"provenance": provenance}))
    check_action_space(tmp_path, NUMBERS)


def test_a_chat_model_is_told_the_space(site: ThreadingHTTPServer, url: str) -> None:
    sampling = Sampling(shown="screen", action_space="ui_tars")
    steps = [StepText("The screen measures 9x9 pixels.", reply="wait"), StepText("Now 9x9.", 'Clicked <a> "x".')]

    async def ask() -> str:
        policy = ChatPolicy("m", "k", f"{url}/v1", sampling)
        asked = policy.reply(Task("T--1", "wait()", url), "task1", steps, {2: "cGljdHVyZQ=="}, None)
        return (await asked).text

    assert "wait()" in asyncio.run(ask())
    system, first, _, newest = site.requests[-1]["messages"]
    assert "right_single(point=" in system["content"] and "Numerical_Label" not in system["content"]
    assert "The screen" not in first["content"]  # of an older step
    text, image = newest["content"]
    assert text["text"] == 'Clicked <a> "x".\nObservation: the page as it is now.\nNow 9x9.'
    assert image["type"] == "image_url"


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ({"action_space": "pixels"}, "there is no action space 'pixels'; known are androidworld"),
        ({"action_space": "webgym", "text_only": True}, "--action_space webgym needs plain screenshots"),
    ],
)
def test_what_does_not_fit_is_told(flags: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError, match=said):
        RunConfig(**flags)


def test_an_agent_reads_html_and_names_ids(collector: Collector, site: ThreadingHTTPServer, url: str) -> None:
    """Without screenshots, as WebRL's: what it reads is kept, what came of an action is feedback."""
    calls = ('do(action="Click", element="3")', 'do(action="Hover", element="3")', 'exit(message="the second page")')
    flags = {"api_localhost": f"{url}/predict", "action_space": "webrl", "text_only": True}
    done = collector.run([task(1, f"{url}/", " | ".join(calls))], **flags)
    assert done.returncode == 0, done.stderr
    trajectory = read_trajectory(collector.results / "taskT--1")
    assert trajectory.answer == "the second page" and trajectory.provenance["action_space"] == "webrl"
    first, second, last = trajectory.steps
    assert '<a id="3"> Next page </a>' in first.shown.split("\n") and first.actions is None
    assert second.url == f"{url}/second" and last.feedback.startswith("'Hover' is not available here.")
    assert [text.tree for text in trajectory.texts()] == [step.shown for step in trajectory.steps]
    asked = site.requests[1]
    assert asked["images"] == [] and "<image>" not in json.dumps(asked["conversations"])
    assert asked["conversations"][-1]["content"] == f"OBSERVATION:\n{second.shown}"
