"""Harbor's Agent Trajectory Interchange Format (ATIF v1.0 to v1.8), as trajectory folders.

Layout: harbor-framework/harbor, `rfcs/0001-trajectory-format.md`, and the package `atif` of its models; neulab's Agent
Data Protocol writes it with the page under `extra.web`. Read are JSON files, JSON lines, and folders of
`trajectory.json` such as Harbor's jobs. Image paths start at the file's folder, else at `--image_dir`.

The first user step says the task. A step of the agent is one of ours: its message and its calls, as
`<tool_call>{"name", "arguments"}</tool_call>`, are the reply to what the steps before it showed. Trajectories that
export_data.py wrote come back as they were.
"""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from common.errors import UserError
from toolkits.readers.interchange.own_trajectory import KEY, OwnStep, write_own
from toolkits.readers.interchange.tool_calls import tool_call
from toolkits.readers.reading.addresses import fetched, is_address, keep_addresses
from toolkits.readers.reading.folders import ForeignTrajectory, NoStepError, Tries, counted, png_of, write_folder
from toolkits.readers.reading.left_out import LeftOut
from toolkits.readers.reading.references import image_behind
from toolkits.readers.reading.seen import ANSWER_FIELDS, ANSWERS, Seen
from toolkits.readers.reading.steps import objects_in, text_of
from toolkits.readers.reading.stream import stream_objects

_VERSION = "ATIF-v1."
_OF_TRAJECTORIES = ("schema_version", "session_id", "trajectory_id", "agent", "steps", "subagent_trajectories")
_OF_STEPS = (
    *("step_id", "source", "message", "tool_calls", "observation", "reasoning_content", "is_copied_context"),
    "extra",
)
_OF_CALLS = ("tool_call_id", "function_name", "arguments")
_OF_RESULTS = ("source_call_id", "content", "extra")
"""Fields that are read, or that name things within the file."""


def import_atif(path: Path, image_dir: Path, out_dir: Path, tries: Tries) -> None:
    """Write the folder of each trajectory.

    Raises:
        UserError: naming file and step.
    """
    files = sorted(path.rglob("trajectory*.json")) if path.is_dir() else [path]
    if not files:
        raise UserError(f"{path}: no trajectory.json in this folder or below")
    left_out, already = LeftOut(), tries.count
    for file in files:
        for where, trajectory in stream_objects(file):
            version = text_of(trajectory.get("schema_version"))
            if not version.startswith(_VERSION):
                raise UserError(f"{where}: its schema_version {version!r:.40} is not one of {_VERSION}0 to 8")
            with counted(left_out, tries):
                _write(where, trajectory, [file.parent, image_dir], out_dir, tries, left_out)
    left_out.give_reason(tries.count - already)
    left_out.tell(path)
    keep_addresses(image_dir, left_out)


@dataclasses.dataclass
class _Content:
    """Reads a message: a text, or parts of which the last image counts."""

    where: str
    folders: list[Path]
    left_out: LeftOut

    def read(self, content: Any) -> tuple[str, Path | bytes | None]:
        if content is None or isinstance(content, str):
            return content or "", None
        texts, image = [], None
        for part in objects_in(f"{self.where}: its content", content):
            source = part.get("source")
            if part.get("type") == "text":
                texts.append(text_of(part.get("text")))
            elif part.get("type") == "image" and isinstance(source, dict):
                if is_address(address := source.get("path")) and not fetched(address, self.folders):
                    self.left_out["images at an address"] += 1
                    self.left_out.addresses.add(address)
                    continue
                self.left_out["earlier images of a step"] += image is not None
                image = image_behind(self.where, text_of(source.get("path")), self.folders)
            else:
                self.left_out[f"{part.get('type')!s:.20} parts"] += 1
        return "\n".join(texts), image


def _write(
    where: str, trajectory: dict[str, Any], folders: list[Path], out_dir: Path, tries: Tries, left_out: LeftOut
) -> None:
    entries = objects_in(f"{where}: its steps", trajectory.get("steps"))
    agent = _object(trajectory.get("agent"))
    extra = trajectory.get("extra")
    own = extra.get(KEY) if isinstance(extra, dict) else None
    if isinstance(own, dict):
        write_own(where, out_dir, own, _own_steps(where, entries, folders, left_out))
        tries.add("atif", where, KEY)
        return
    left_out.count_unread("trajectories", trajectory, _OF_TRAJECTORIES)
    left_out.count_unread("agents", agent, ("name", "version", "tool_definitions"))
    seen, steps, task, answer = Seen(), [], "", None
    for number, entry in enumerate(entries, start=1):
        reader = _Content(f"{where}: step {number}", folders, left_out)
        source = entry.get("source")
        _count_unread(left_out, entry)
        if entry.get("is_copied_context") is True:
            left_out["steps copied from another context"] += 1
        elif source == "system":
            left_out["system prompts"] += 1
        elif source == "user" and not task:
            task, seen.image = reader.read(entry.get("message"))
        elif source == "user":
            _show(seen, entry.get("message"), entry.get("extra"), reader)
        elif source == "agent":
            reply, answer = _reply(reader, entry, answer)
            if reply:
                steps.append(seen.answered(reply))
            observation = entry.get("observation")
            for result in objects_in(f"{reader.where}: its results", _object(observation).get("results") or []):
                _show(seen, result.get("content"), result.get("extra"), reader)
        else:
            raise UserError(f"{reader.where}: its source is {source!r:.40}, none of system, user, agent")
    left_out["trajectories of sub-agents"] += len(trajectory.get("subagent_trajectories") or [])
    left_out["tool definitions"] += bool(agent.get("tool_definitions"))
    if not steps:
        raise NoStepError(f"{where}: holds no step of an agent")
    name = text_of(agent.get("name")) or "ATIF"
    web = next((step.url for step in steps if step.url), "") or "unknown"
    made, run = tries.add("atif", task or text_of(trajectory.get("session_id")) or Path(where).stem, web)
    write_folder(where, out_dir, ForeignTrajectory(made, run, name, steps, answer))


def _count_unread(left_out: LeftOut, entry: Mapping[str, Any]) -> None:
    """What a step says that a step of ours has no place for."""
    left_out.count_unread("steps", entry, _OF_STEPS)
    left_out.count_unread("the extra of steps", _object(entry.get("extra")), ("web",))
    for call in entry.get("tool_calls") or []:
        left_out.count_unread("calls", _object(call), _OF_CALLS)
    for result in _object(entry.get("observation")).get("results") or []:
        left_out.count_unread("results", _object(result), _OF_RESULTS)


def _show(seen: Seen, content: Any, extra: Any, reader: _Content) -> None:
    text, image = reader.read(content)
    web = _object(_object(extra).get("web"))
    seen.add(text, image, text_of(web.get("url")), text_of(web.get("axtree")) or text_of(web.get("html")))


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _reply(reader: _Content, entry: Mapping[str, Any], answer: str | None) -> tuple[str, str | None]:
    """(what the agent said, what it has answered by now)."""
    said, image = reader.read(entry.get("message"))
    reader.left_out["images in an agent's message"] += image is not None
    thought = text_of(entry.get("reasoning_content"))
    calls = []
    for call in objects_in(f"{reader.where}: its tool_calls", entry.get("tool_calls") or []):
        name, arguments = text_of(call.get("function_name")), call.get("arguments")
        if not name or not isinstance(arguments, dict):
            raise UserError(f"{reader.where}: a tool call without function_name and arguments")
        calls.append(tool_call(name, arguments))
        if name.lower() in ANSWERS:
            answer = next((text_of(arguments.get(key)) for key in ANSWER_FIELDS if arguments.get(key)), "")
    if not calls and said:
        answer = said if entry.get("observation") is None else answer
    return "\n".join(filter(None, [f"<think>{thought}</think>" if thought else "", said, *calls])), answer


def _own_steps(where: str, entries: list[dict[str, Any]], folders: list[Path], left_out: LeftOut) -> list[OwnStep]:
    """What export_data.py wrote: what is shown stands in the step before the reply."""
    steps: list[OwnStep] = []
    shown: tuple[Any, Any] = (None, None)  # content and extra of the last observation
    for number, entry in enumerate(entries, start=1):
        here = f"{where}: step {number}"
        if entry.get("source") == "user":
            shown = (entry.get("message"), entry.get("extra"))
        if entry.get("source") != "agent":
            continue
        _, image = _Content(here, folders, left_out).read(shown[0])
        extra, metrics = _object(shown[1]), _object(entry.get("metrics"))
        fields = {**_object(_object(entry.get("extra")).get(KEY)), "reply": entry.get("message")}
        for ours, theirs in METRICS.items():
            fields |= {ours: metrics[theirs]} if theirs in metrics else {}
        steps.append(
            OwnStep(
                fields,
                text_of(_object(extra.get("web")).get("axtree")),
                png_of(here, image),
                _object(extra.get(KEY)).get("boxes"),
            )
        )
        results = objects_in(f"{here}: its results", _object(entry.get("observation")).get("results") or [])
        shown = (results[0].get("content"), results[0].get("extra")) if results else (None, None)
    return steps


METRICS = {
    "prompt_tokens": "prompt_tokens",
    "completion_tokens": "completion_tokens",
    "token_ids": "completion_token_ids",
    "logprobs": "logprobs",
}
"""Fields of our steps that ATIF has under `metrics`."""
