"""Our trajectories as a study of AgentLab's, an experiment each, which AgentXray and `ExpResult` open.

    <task>--run<n>/  exp_args.pkl, summary_info.json, goal_object.pkl.gz, step_<n>.pkl.gz, screenshot_step_<n>.png

Layout: ServiceNow/BrowserGym `browsergym/experiments/src/browsergym/experiments/loop.py`. Its pickles hold three of its
classes, which need not be installed here: a pickle names a class and the values of its fields. Step n is what was shown
before the action n, and the last one has no action. Actions are BrowserGym's calls, with our numbers as its `bid`s.
"""

import gzip
import pickle
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from common.files import write_atomic, write_json
from data.action_spaces.translate import SCROLLED
from data.outcome import Verdict
from data.trajectory import FINISHED, Trajectory, TrajectoryStep
from toolkits.readers.reading.left_out import LeftOut
from toolkits.writers.atif import calls_of, count_left_out
from toolkits.writers.files import place, read_whole
from toolkits.writers.results import thought_of

_MODULE = "browsergym.experiments.loop"
_STEP = {"raw_reward": 0, "stats": None, "task_info": None}
_ENV = {
    **{"task_seed": 0, "max_steps": None, "headless": True, "record_video": False, "wait_for_user_message": False},
    **{"viewport": None, "slow_mo": None, "storage_state": None, "task_kwargs": None},
}
_WINDOW = 1000  # pixels, of which `Scroll` goes two thirds


def write_agentlab(folder: Path, out_dir: Path, left_out: LeftOut) -> None:
    """One trajectory; one without a step is no experiment."""
    trajectory, target = read_whole(folder), out_dir / folder.name
    if not trajectory.steps:
        left_out["trajectories without a step"] += 1
        return
    target.mkdir()
    goal = [{"type": "text", "text": trajectory.ques}]
    write_atomic(target / "goal_object.pkl.gz", gzip.compress(pickle.dumps(goal, 2), mtime=0))
    succeeded = trajectory.outcome is not None and trajectory.outcome.verdict is Verdict.SUCCESS
    for index, step in enumerate(trajectory.steps):
        place(trajectory.screenshot(step.number), target / f"screenshot_step_{index}.png")
        seen = _seen(trajectory, step, trajectory.trees[index])
        info = {"think": thought_of(step), "extra_info": {"reply": step.reply}}
        _write_step(target, index, seen, _action(step, trajectory.web), info)
    last = {**_seen(trajectory, trajectory.steps[-1], ""), "last_action_error": ""}
    end = {"reward": float(succeeded), "terminated": trajectory.status == FINISHED}
    _write_step(target, len(trajectory.steps), last, None, {}, **end, truncated=not end["terminated"])
    _write_arguments(trajectory, target)
    _write_summary(trajectory, target, end)
    count_left_out(folder, left_out)
    left_out["final pages, which are not known"] += 1
    left_out["token ids of replies"] += sum(bool(step.token_ids) for step in trajectory.steps)


def _seen(trajectory: Trajectory, step: TrajectoryStep, tree: str) -> dict[str, Any]:
    return {
        **{"goal": trajectory.ques, "goal_object": None, "chat_messages": [], "axtree_txt": tree, "url": step.url},
        **{"open_pages_urls": [step.url], "active_page_index": 0, "last_action_error": step.feedback},
    }


def _write_step(
    target: Path, number: int, seen: Mapping[str, Any], action: str | None, info: Mapping[str, Any], **end: Any
) -> None:
    fields = {"step": number, "obs": seen, "action": action, "agent_info": info, **_STEP}
    fields |= {"reward": 0.0, "terminated": False, "truncated": False, **end}
    fields["profiling"] = _Named("StepTimestamps", {})
    write_atomic(target / f"step_{number}.pkl.gz", gzip.compress(_pickled(_Named("StepInfo", fields)), mtime=0))


def _write_arguments(trajectory: Trajectory, target: Path) -> None:
    policy = str(trajectory.provenance.get("policy") or trajectory.provenance.get("model") or "elcano")
    fields = {
        "agent_args": {"agent_name": policy},
        "env_args": _Named("EnvArgs", {"task_name": f"elcano.{trajectory.task_id}", **_ENV}),
        **{"exp_dir": None, "exp_name": target.name, "exp_id": target.name, "enable_debug": False, "err_msg": None},
        **{"stack_trace": None, "order": trajectory.run or 0, "logging_level": 20, "depends_on": ()},
        **{"save_screenshot": True, "save_som": False},
    }
    write_atomic(target / "exp_args.pkl", _pickled(_Named("ExpArgs", fields)))


def _write_summary(trajectory: Trajectory, target: Path, end: Mapping[str, Any]) -> None:
    """Without a reward where nobody judged."""
    summary = {"n_steps": len(trajectory.steps), "err_msg": None, "stack_trace": None}
    summary |= {"terminated": end["terminated"], "truncated": not end["terminated"]}
    if trajectory.outcome is not None and trajectory.outcome.verdict.solved is not None:
        summary |= {"cum_reward": end["reward"], "cum_raw_reward": end["reward"]}
    write_json(target / "summary_info.json", summary, flush=False)


class _Named:
    """An object of a class of theirs: its name and fields."""

    def __init__(self, name: str, fields: Mapping[str, Any]):
        self.name, self.fields = name, fields


def _pickled(named: _Named) -> bytes:
    return pickle.PROTO + bytes([2]) + _body(named) + pickle.STOP


def _body(value: Any) -> bytes:
    """What makes the value, without the pickle's head and end."""
    if not isinstance(value, _Named):
        return pickle.dumps(value, 2)[2:-1]
    fields = b"".join(_body(name) + _body(held) + pickle.SETITEM for name, held in value.fields.items())
    made = pickle.GLOBAL + f"{_MODULE}\n{value.name}\n".encode() + pickle.EMPTY_TUPLE + pickle.NEWOBJ
    return made + pickle.EMPTY_DICT + fields + pickle.BUILD


def _action(step: TrajectoryStep, web: str) -> str:
    """What the step did; a reply that could not be read did nothing."""
    return "\n".join(_CALLS[name](arguments, web) for name, arguments in calls_of(step)) or "noop()"


def _call(name: str, *arguments: Any) -> str:
    return f"{name}({', '.join(map(repr, arguments))})"


def _at(told: Mapping[str, Any], place: int = 0) -> Sequence[float]:
    return told["coordinates"][place]


def _write(told: Mapping[str, Any], _: str) -> str:
    calls = [_call("mouse_click", *_at(told))] if told.get("coordinates") else []
    calls += [_call("keyboard_press", "Control+a")] if told.get("replace") else []
    calls.append(_call("keyboard_type", told["content"]))
    return "\n".join([*calls, *([_call("keyboard_press", "Enter")] if told.get("enter") else [])])


def _click_at(told: Mapping[str, Any], _: str) -> str:
    name = "mouse_dblclick" if told.get("count", 1) > 1 else "mouse_click"
    return _call(name, *_at(told), *([told["button"]] if told.get("button", "left") != "left" else []))


def _drag_at(told: Mapping[str, Any], _: str) -> str:
    return _call("mouse_drag_and_drop", *_at(told), *_at(told, -1))


def _type(told: Mapping[str, Any], _: str) -> str:
    bid = str(told["label"])
    return f"{_call('fill', bid, told['content'])}\n{_call('press', bid, 'Enter')}"


def _scroll(told: Mapping[str, Any], _: str) -> str:
    return _call("scroll", 0, round(_WINDOW * SCROLLED) * (1 if told["direction"] == "down" else -1))


_CALLS: dict[str, Callable[[Mapping[str, Any], str], str]] = {
    "click": lambda told, _: _call("click", str(told["label"])),
    "type": _type,
    "scroll": _scroll,
    "drag": lambda told, _: _call("drag_and_drop", str(told["label"]), str(told["target"])),
    "wait": lambda *_: "noop()",
    "goback": lambda *_: "go_back()",
    "restart": lambda _, web: _call("goto", web),
    "answer": lambda told, _: _call("send_msg_to_user", told["content"]),
    "clickat": _click_at,
    "hoverat": lambda told, _: _call("mouse_move", *_at(told)),
    "dragat": _drag_at,
    "write": _write,
    "press": lambda told, _: _call("keyboard_press", "+".join(told["keys"])),
    "scrollat": lambda told, _: _call("scroll", told["right"], told["down"]),
    "goto": lambda told, _: _call("goto", told["url"]),
    "opentab": lambda *_: "new_tab()",
    "selecttab": lambda told, _: _call("tab_focus", told["index"] or 0),
    "closetab": lambda *_: "tab_close()",
}
