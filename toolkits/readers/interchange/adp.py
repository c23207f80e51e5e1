"""The Agent Data Protocol (neulab), standardized trajectories of schema 1.x, as trajectory folders.

    {"schema_version", "id", "content": [observations and actions], "details"}

Layout: neulab/agent-data-protocol, `schema/trajectory.py`, `schema/action/`, `schema/observation/`. Newer releases of
that project are ATIF: atif.py. The first text of the user says the task, else `details`. An action is
a step: a call as `<tool_call>{"name", "arguments"}</tool_call>`, code as a fenced block, after its description.
Trajectories that export_data.py wrote come back as they were.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from common.errors import UserError
from toolkits.readers.interchange.own_trajectory import KEY, OwnStep, write_own
from toolkits.readers.interchange.tool_calls import tool_call
from toolkits.readers.reading.addresses import fetched, is_address, keep_addresses
from toolkits.readers.reading.folders import (
    ForeignStep,
    ForeignTrajectory,
    NoStepError,
    Tries,
    by_rewards,
    counted,
    png_of,
    write_folder,
)
from toolkits.readers.reading.left_out import LeftOut
from toolkits.readers.reading.references import image_behind
from toolkits.readers.reading.seen import ANSWER_FIELDS, ANSWERS, Seen
from toolkits.readers.reading.steps import objects_in, text_of
from toolkits.readers.reading.stream import stream_objects

_OF_TRAJECTORIES = {"schema_version", "id", "content", "details"}
_OF_OBSERVATIONS = (
    "class_",
    "content",
    "source",
    "reward",
    "annotations",
    "image_observation",
    "url",
    "axtree",
    "html",
)
_OF_ACTIONS = (
    *("class_", "content", "function", "kwargs", "language", "description", "reasoning_content", "reward"),
    "source",
)
_TASKS = ("task_description", "task", "goal", "instruction")


def import_adp(path: Path, image_dir: Path, out_dir: Path, tries: Tries) -> None:
    """Write the folder of each trajectory of a JSON or JSON lines file, or of all such files of a folder.

    Raises:
        UserError: naming file and item.
    """
    files = sorted([*path.glob("*.json"), *path.glob("*.jsonl")]) if path.is_dir() else [path]
    if not files:
        raise UserError(f"{path}: no *.json or *.jsonl in this folder")
    left_out, already = LeftOut(), tries.count
    for file in files:
        for where, trajectory in stream_objects(file):
            with counted(left_out, tries):
                _Reader(where, [file.parent, image_dir], left_out).write(trajectory, out_dir, tries)
    left_out.give_reason(tries.count - already)
    left_out.tell(path)
    keep_addresses(image_dir, left_out)


class _Reader:
    """Of one trajectory."""

    def __init__(self, where: str, folders: Sequence[Path], left_out: LeftOut):
        self.where, self.folders, self.left_out = where, folders, left_out
        self.seen, self.task, self.answer = Seen(), "", None
        self.steps: list[ForeignStep] = []
        self.rewards: list[Any] = []

    def write(self, trajectory: Mapping[str, Any], out_dir: Path, tries: Tries) -> None:
        items = objects_in(f"{self.where}: its content", trajectory.get("content"))
        details = _object(trajectory.get("details"))
        if isinstance(own := details.get(KEY), dict):
            write_own(self.where, out_dir, own, self._own_steps(items, own))
            tries.add("adp", self.where, KEY)
            return
        self.task = next((text_of(details[name]) for name in _TASKS if text_of(details.get(name))), "")
        read = {name for name in trajectory if name.startswith("available_")} | _OF_TRAJECTORIES
        self.left_out.count_unread("trajectories", trajectory, read)
        self.left_out.count_unread("the details of trajectories", details, (*_TASKS, "website"))
        for number, item in enumerate(items, start=1):
            where, kind = f"{self.where}: item {number}", text_of(item.get("class_"))
            self.rewards += [item["reward"]] if item.get("reward") is not None else []
            if kind.endswith("_observation"):
                self._observe(where, kind, item)
            elif kind.endswith("_action"):
                self._act(where, kind, item)
            else:
                raise UserError(f"{where}: its class_ {kind!r:.40} is neither an observation nor an action")
        self.left_out["lists of available tools"] += any(
            name.startswith("available_") and value for name, value in trajectory.items()
        )
        if not self.steps:
            raise NoStepError(f"{self.where}: holds no step of an agent")
        web = next((step.url for step in self.steps if step.url), "") or text_of(details.get("website")) or "unknown"
        made, run = tries.add("adp", self.task or text_of(trajectory.get("id")) or Path(self.where).stem, web)
        outcome = by_rewards(self.where, "ADP", self.rewards[-1:]) if self.rewards else None
        write_folder(self.where, out_dir, ForeignTrajectory(made, run, "ADP", self.steps, self.answer, outcome))

    def _observe(self, where: str, kind: str, item: Mapping[str, Any]) -> None:
        self.left_out["annotations of images"] += bool(item.get("annotations"))
        self.left_out.count_unread("observations", item, _OF_OBSERVATIONS)
        if kind == "text_observation" and item.get("source") == "user" and not (self.task or self.steps):
            self.task = text_of(item.get("content"))
        elif kind == "text_observation":
            self.seen.add(text_of(item.get("content")))
        elif kind == "image_observation":
            self.seen.add(image=self._image(where, item))
        elif kind == "web_observation":
            shown = item.get("image_observation")
            image = self._image(where, shown) if isinstance(shown, dict) else None
            tree = text_of(item.get("axtree")) or text_of(item.get("html"))
            self.left_out["html of pages, beside their axtree"] += bool(item.get("axtree") and item.get("html"))
            self.left_out["annotations of images"] += bool(_object(shown).get("annotations"))
            self.seen.add("", image, text_of(item.get("url")), tree)
        else:
            raise UserError(f"{where}: its class_ {kind!r:.40} is not of schema 1")

    def _image(self, where: str, item: Mapping[str, Any]) -> Path | bytes | None:
        if is_address(address := item.get("content")) and not fetched(address, self.folders):
            self.left_out["images at an address"] += 1
            self.left_out.addresses.add(address)
            return None
        return image_behind(where, text_of(item.get("content")), self.folders)

    def _act(self, where: str, kind: str, item: Mapping[str, Any]) -> None:
        said, arguments = text_of(item.get("content")), item.get("kwargs")
        self.left_out.count_unread("actions", item, _OF_ACTIONS)
        if kind == "api_action":
            if not isinstance(item.get("function"), str) or not isinstance(arguments, dict):
                raise UserError(f"{where}: a call without function and kwargs")
            said = tool_call(item["function"], arguments)
            if item["function"].lower() in ANSWERS:
                self.answer = next((text_of(arguments[name]) for name in ANSWER_FIELDS if arguments.get(name)), "")
        elif kind == "code_action":
            said = f"```{text_of(item.get('language'))}\n{said}\n```"
        elif kind == "message_action":
            self.answer = said
        else:
            raise UserError(f"{where}: its class_ {kind!r:.40} is not of schema 1")
        thought = text_of(item.get("reasoning_content"))
        thought = f"<think>{thought}</think>" if thought else ""
        self.steps.append(
            self.seen.answered("\n".join(filter(None, [thought, text_of(item.get("description")), said])))
        )

    def _own_steps(self, items: Sequence[Mapping[str, Any]], own: Mapping[str, Any]) -> list[OwnStep]:
        """What export_data.py wrote: a page for each step, whose fields stand under `details`."""
        pages = [item for item in items if item.get("class_") == "web_observation"]
        fields = objects_in(f"{self.where}: its steps", own.get("steps"))
        if len(pages) != len(fields):
            raise UserError(f"{self.where}: {len(fields)} steps but {len(pages)} pages")
        steps = []
        for number, (page, kept) in enumerate(zip(pages, fields, strict=True), start=1):
            where = f"{self.where}: step {number}"
            png = png_of(where, self._image(where, _object(page.get("image_observation"))))
            kept, boxes = {name: value for name, value in kept.items() if name != "boxes"}, kept.get("boxes")
            steps.append(OwnStep({"url": text_of(page.get("url")), **kept}, text_of(page.get("axtree")), png, boxes))
        return steps


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
