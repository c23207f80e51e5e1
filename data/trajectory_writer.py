"""Writes a trajectory while it happens: the folder that `data/trajectory.py` describes and reads."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from common.files import write_json
from data.conversation import StepText, build_chat
from data.observation import shown
from data.task import Task
from data.trajectory import FINISHED, TrajectoryStep

_IMAGE_REDACTED = {"type": "image_url", "image_url": {"url": "data:image/png;base64,{b64_img}"}}


class TrajectoryWriter:
    """Writes a trajectory step by step; a crash at any instant leaves a prefix, and `finish` makes it complete."""

    def __init__(
        self, folder: Path, task: Task, provenance: dict[str, Any], system_prompt: str, run: int | None = None
    ):
        self.folder, self.task, self.run = folder, task, run
        self.provenance, self.system_prompt = provenance, system_prompt
        self.steps: list[StepText] = []
        self._samplings: list[dict[str, Any]] = []
        folder.mkdir(parents=True, exist_ok=False)
        self._lines = open(folder / "steps.jsonl", "a", encoding="utf-8")  # noqa: SIM115 - open for the run
        self._log = open(folder / "agent.log", "a", encoding="utf-8")  # noqa: SIM115
        self.log(f"########## TASK{folder.name.removeprefix('task')} ##########")

    def log(self, text: str) -> None:
        """A line of `agent.log`."""
        self._log.write(f"INFO - {text}\n")
        self._log.flush()

    def write_observation(
        self,
        number: int,
        tree: str,
        tree_nodes: dict[str, Any] | None,
        screenshot_png: bytes,
        boxes: Mapping[int, Sequence[float]] | None = None,
    ) -> None:
        """What the agent is about to see at step `number`; the raw nodes are large and optional. `boxes` are by label,
        in pixels of the viewport."""
        (self.folder / f"accessibility_tree{number}.txt").write_text(tree, encoding="utf-8")
        if tree_nodes is not None:
            nodes = json.dumps(tree_nodes, ensure_ascii=False)
            (self.folder / f"accessibility_tree{number}.json").write_text(nodes, encoding="utf-8")
        if boxes:
            rounded = {label: [round(side) for side in box] for label, box in boxes.items()}
            (self.folder / f"boxes{number}.json").write_text(json.dumps(rounded, separators=(",", ":")))
        (self.folder / f"screenshot{number}.png").write_bytes(screenshot_png)

    def add_step(self, step: TrajectoryStep, tree: str) -> None:
        """The agent's reply to that observation, flushed at once."""
        self._lines.write(json.dumps(step.to_json(), ensure_ascii=False) + "\n")
        self._lines.flush()
        self.steps.append(step.text(tree))
        self._samplings.append(step.sampling)
        self.log(f"Iter: {step.number}")
        self.log(f"Prompt Tokens: {step.prompt_tokens}; Completion Tokens: {step.completion_tokens}")

    def write_final(self, name: str, content: Any) -> None:
        """What the ground truth looks at after the last step, kept as `<name>.json`."""
        write_json(self.folder / f"{name}.json", content)

    def finish(self, status: str, answer: str | None = None, reason: str = "") -> None:
        """Write what OpenWebVoyager writes, then `trajectory.json`."""
        if status == FINISHED:
            self.log(str(answer))
            self.log("finish!!")
        last_n, view = len(self.steps) + 1, shown(self.provenance)
        messages = build_chat(self.system_prompt, self.task.ques, self.task.web, self.steps, last_n, view)
        for message in messages:
            if isinstance(message["content"], list):
                message["content"] = [_IMAGE_REDACTED if "step" in part else part for part in message["content"]]
        write_json(self.folder / "interact_messages.json", messages)
        self.close()
        if any(self._samplings):
            self.provenance["sampling"] = _in_all(self._samplings)
        summary = {
            "task": self.task.to_json(),
            "run": self.run,
            "status": status,
            "answer": answer,
            "reason": reason,
            "num_steps": len(self.steps),
            "provenance": self.provenance,
        }
        write_json(self.folder / "trajectory.json", summary)

    def close(self) -> None:
        """Close the open files; the folder stays a prefix unless `finish` ran."""
        self._lines.close()
        self._log.close()


def _in_all(samplings: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What all steps were drawn with; the seed is each step's own."""
    first, *others = samplings
    return {
        name: value
        for name, value in first.items()
        if name != "seed" and all(name in other and other[name] == value for other in others)
    }
