"""The trajectory folder: complete or a prefix, never in between."""

import io
import json

import pytest
from PIL import Image

from common.errors import UserError
from data.actions.action import CANNOT_EXECUTE
from data.outcome import Outcome, Verdict
from data.task import Task
from data.trajectory import (
    FINISHED,
    TrajectoryStep,
    folder_name,
    is_complete,
    read_trajectory,
    split_folder_name,
    write_outcome,
)
from data.trajectory_writer import TrajectoryWriter

TASK = Task("Shop--3", "Find it.", "http://shop.localhost:7070/")


def _write(folder, finish=True):
    image = io.BytesIO()
    Image.new("RGB", (4, 3)).save(image, "PNG")
    writer = TrajectoryWriter(folder, TASK, {"seed": 1}, "You browse.", run=2)
    replies = ["Thought: a\n\nAction: Click [2]", "Thought: b\n\nAction: ANSWER; 5"]
    for number, reply in enumerate(replies, start=1):
        writer.write_observation(number, f"[1] RootWebArea 'page {number}'", {"1": {}}, image.getvalue())
        feedback = CANNOT_EXECUTE if number == 2 else ""
        sampling = {"temperature": 0.7, "seed": number, "top_k": 50 * number}
        step = TrajectoryStep(
            number, "http://x/", reply, feedback, token_ids=[1, 2], sampling=sampling, timings_s={"model": 0.1}
        )
        writer.add_step(step, "tree")
    if finish:
        writer.finish(FINISHED, answer="5")
    return writer


def test_round_trip(tmp_path):
    folder = tmp_path / folder_name(TASK.id, 2)
    _write(folder)
    write_outcome(folder, Outcome(Verdict.SUCCESS, judge="oracle"))
    trajectory = read_trajectory(folder)
    assert (trajectory.task_id, trajectory.run, trajectory.answer, trajectory.finished) == ("Shop--3", 2, "5", True)
    assert trajectory.outcome.success
    assert trajectory.steps[1].feedback == CANNOT_EXECUTE
    assert trajectory.provenance == {"seed": 1, "sampling": {"temperature": 0.7}}  # the rest differs from step to step
    assert trajectory.steps[1].sampling == {"temperature": 0.7, "seed": 2, "top_k": 100}
    assert trajectory.trees == ["[1] RootWebArea 'page 1'", "[1] RootWebArea 'page 2'"]


def test_a_step_by_numbers_has_the_fields_it_always_had(tmp_path):
    _write(tmp_path / "taskShop--3")
    names = list(json.loads((tmp_path / "taskShop--3" / "steps.jsonl").read_text().splitlines()[0]))
    assert names == [
        *("number", "url", "reply", "feedback", "notes"),
        *("prompt_tokens", "completion_tokens", "weights_version"),
        *("token_ids", "logprobs", "sampling", "timings_s"),
    ]


def test_where_the_elements_lay_is_kept_in_whole_pixels(tmp_path):
    writer = TrajectoryWriter(tmp_path / "taskShop--3", TASK, {}, "")
    writer.write_observation(1, "tree", None, b"", {4: [0.2, 10.6, 30.0, 8]})
    assert json.loads((tmp_path / "taskShop--3" / "boxes1.json").read_text()) == {"4": [0, 11, 30, 8]}
    writer.close()


def test_our_folder_reads_as_openwebvoyagers(tmp_path):
    folder = tmp_path / folder_name(TASK.id)
    _write(folder)
    ours = read_trajectory(folder)
    (folder / "trajectory.json").unlink()
    (folder / "steps.jsonl").unlink()
    theirs = read_trajectory(folder)
    assert (theirs.ques, theirs.answer, theirs.finished, theirs.texts()) == (ours.ques, ours.answer, True, ours.texts())
    assert len(json.loads((folder / "interact_messages.json").read_text())) == 1 + 2 * len(ours.steps)


def _as_released(folder):
    _write(folder)
    for name in ("trajectory.json", "steps.jsonl"):
        (folder / name).unlink()


def test_released_folders_need_neither_trees_nor_log(tmp_path):
    folder = tmp_path / folder_name(TASK.id)
    _as_released(folder)
    for path in (*folder.glob("accessibility_tree*"), folder / "agent.log"):
        path.unlink()
    (folder / ".DS_Store").write_bytes(b"\0\0\0\1Bud1")
    trajectory = read_trajectory(folder)
    assert (trajectory.answer, trajectory.finished, trajectory.trees) == ("5", True, ["", ""])


def test_released_folders_may_end_before_an_answer(tmp_path):
    folder = tmp_path / folder_name(TASK.id)
    _as_released(folder)
    (folder / "agent.log").unlink()
    messages = json.loads((folder / "interact_messages.json").read_text())
    (folder / "interact_messages.json").write_bytes(json.dumps(messages[:-1]).encode("utf-16"))  # its reply never came
    trajectory = read_trajectory(folder)
    assert (trajectory.answer, trajectory.finished, len(trajectory.steps)) == (None, False, 1)


def test_a_released_folder_that_lost_one_page_is_refused(tmp_path):
    folder = tmp_path / folder_name(TASK.id)
    _as_released(folder)
    (folder / "accessibility_tree2.txt").unlink()
    with pytest.raises(UserError, match=r"accessibility_tree2\.txt is missing"):
        read_trajectory(folder)


def test_a_prefix_is_not_complete(tmp_path):
    folder = tmp_path / folder_name(TASK.id)
    _write(folder, finish=False)
    assert not is_complete(folder)
    with pytest.raises(UserError, match="not a complete trajectory"):
        read_trajectory(folder)


def test_a_missing_file_is_named(tmp_path):
    folder = tmp_path / folder_name(TASK.id)
    _write(folder)
    (folder / "screenshot2.png").unlink()
    with pytest.raises(UserError, match=r"screenshot2\.png is missing"):
        read_trajectory(folder)


def test_folder_names():
    assert split_folder_name(folder_name("Google Flights--5", 3)) == ("Google Flights--5", 3)
    assert split_folder_name(folder_name("Google Flights--5")) == ("Google Flights--5", None)


def test_what_the_agent_saw_and_said_comes_back_to_the_character(tmp_path):
    """U+2028 and U+0085 end a line for `str.splitlines`, and text mode turns a carriage return into a newline."""
    odd = "a\u2028b\u0085c\rd\r\ne"
    image = io.BytesIO()
    Image.new("RGB", (4, 3)).save(image, "PNG")
    writer = TrajectoryWriter(tmp_path / "taskShop--3", TASK, {}, "You browse.")
    writer.write_observation(1, odd, None, image.getvalue())
    writer.add_step(TrajectoryStep(1, "http://x/", odd, notes=odd), odd)
    writer.finish(FINISHED, answer=odd)
    trajectory = read_trajectory(tmp_path / "taskShop--3")
    assert (trajectory.trees, trajectory.steps[0].reply, trajectory.steps[0].notes) == ([odd], odd, odd)
    assert trajectory.answer == odd
