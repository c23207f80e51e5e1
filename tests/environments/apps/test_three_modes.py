"""Applications as each way of acting has them: by numbers of the tree, by marks, and by points of the screenshot."""

import json

import pytest

import environments
from data.observation import Mode
from environments.apps.application import make_app
from environments.browser.config import BrowserConfig
from environments.stepping import View, as_reply

pytestmark = pytest.mark.slow
LEADS_ON = {
    "fava": "Journal",
    "fossil": "Tickets",
    "oscar": "Clocks",
    "roundup": "Create New",
    "tiddlywiki": "Catalog",
    "trac": "New Ticket",
}
"""Something to click on an application's first page."""


@pytest.mark.parametrize("name", LEADS_ON)
def test_the_same_click_leads_to_the_same_page(name: str) -> None:
    if not make_app(name).installed:
        pytest.skip(f"not installed: python -m environments.apps install {name}")
    led = {_led_to(name, *mode) for mode in (("tree", "webvoyager"), ("marks", "webvoyager"), ("tree", "openwebrl"))}
    assert len(led) == 1 and all(before != after for before, after in led), led


def _led_to(name: str, observation: Mode, action_space: str) -> tuple[str, str]:
    """The addresses before and after the click."""
    browser = BrowserConfig(observation=observation, visibility="complete")
    with environments.make("apps", env_tasks=(name,), browser=browser, action_space=action_space) as env:
        view = env.reset()
        label = _label(view, LEADS_ON[name])
        reply = as_reply(f"Click [{label}]") if action_space == "webvoyager" else _click_at_its_middle(view, label)
        return view.seen.url, env.step(reply).view.seen.url


def _label(view: View, name: str) -> int:
    return next(label for label, node in view.seen.nodes.items() if node["name"]["value"].lower() == name.lower())


def _click_at_its_middle(view: View, label: int) -> str:
    (x, y, width, height), screen = view.seen.nodes[label]["union_bound"], view.seen.viewport
    point = [round(1000 * (x + width / 2) / screen[0]), round(1000 * (y + height / 2) / screen[1])]
    call = {"name": "click", "arguments": {"point_2d": point}}
    return f"<tool_call>{json.dumps(call)}</tool_call>"
