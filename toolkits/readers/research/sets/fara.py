"""Fara's trajectories, as its evaluation leaves them and as CUAVerifierBench publishes them, as episodes.

    folders   `web_surfer.log` (JSON lines; those with `action` are steps, whose `arguments` hold the action, numbers
              and `thoughts`), `screenshot<n>.png` before step n (from 0), `*_final_answer.json`, `task_data.json`.
              A folder of such folders is read as well.
    Parquet   a row each, with the same as columns: `web_surfer_log`, `screenshots`, `instruction`, `init_url`,
              `final_answer`, `final_human_outcome_label` (microsoft/CUAVerifierBench on Hugging Face)

Layout: microsoft/fara `src/fara/fara_agent.py`, `webeval/src/webeval/trajectory.py`. A point counts pixels of the
screenshot in the size in which Qwen2.5-VL is shown it. WebTailBench's tasks run in the same evaluation.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote_plus

from common.errors import UserError
from common.files import parse_json, read_json
from data.actions.action import Answer, GoBack, Wait
from data.actions.point_action import AnyAction, ClickAt, GoTo, HoverAt, ScrollAt, Write
from data.actions.screen import PX_RESIZED, Point, Screen
from toolkits.readers.reading.references import image_behind
from toolkits.readers.reading.steps import NoImageError, text_of
from toolkits.readers.research.episodes import (
    Episode,
    EpisodeStep,
    NoTaskError,
    UnsaidError,
    if_whole,
    number,
    point_at,
    pressed,
    step_of,
    words,
)

_LOG, _NOTHING = "web_surfer.log", "<no_answer>"
_ASKED = ("task_proposal", "task_summary", "question", "instruction", "task")
_SHOT = re.compile(r"screenshot(\d{1,6})\.png")
_COLUMNS = ("task_id", "instruction", "init_url", "final_answer", "web_surfer_log", "screenshots")
_VERDICT = "final_human_outcome_label"


def read_fara(paths: Sequence[Path], image_dir: Path) -> Iterator[Episode]:
    """An episode for every folder or row.

    Raises:
        UserError: naming file and step.
    """
    for path in paths:
        if path.suffix == ".parquet":
            yield from _rows(path, image_dir)
        elif (path / _LOG).is_file():
            yield if_whole(str(path), partial(_folder, path))
        else:
            found = sorted(one.parent for one in path.glob(f"*/{_LOG}")) if path.is_dir() else []
            if not found:
                raise UserError(f"{path}: no folder with {_LOG}, nor a folder of such")
            yield from (if_whole(str(folder), partial(_folder, folder)) for folder in found)


def _folder(folder: Path) -> Episode:
    shots = {int(found[1]): file for file in folder.iterdir() if (found := _SHOT.fullmatch(file.name))}
    told = _object(folder / "task_data.json") | _object(folder / "metadata.json")
    answers = sorted(folder.glob("*_final_answer.json"))
    answer = text_of(_object(answers[0]).get("final_answer")) if answers else ""
    ques = next((text for name in _ASKED if (text := text_of(told.get(name)))), folder.name)
    try:
        log = (folder / _LOG).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise UserError(f"{folder / _LOG}: not a text file") from None
    return _episode(str(folder), log, shots, ques, text_of(told.get("init_url")), answer, None)


def _rows(path: Path, image_dir: Path) -> Iterator[Episode]:
    from data.shards.parquet.parquet_file import iter_rows, read_schema  # imported here: pyarrow takes a second

    names = read_schema(path).names
    if missing := set(_COLUMNS) - set(names):
        raise UserError(f"{path}: has no column {min(missing)}; give the trajectories, not the annotations")
    for place, row in enumerate(iter_rows(path, [*_COLUMNS, *({_VERDICT} & set(names))]), start=1):
        where = f"{path}: row {place}"
        yield if_whole(where, partial(_row, where, row, image_dir))


def _row(where: str, row: Mapping[str, Any], image_dir: Path) -> Episode:
    images = row["screenshots"] if isinstance(row["screenshots"], list) else []
    shots = {count: image_behind(where, image, [image_dir]) for count, image in enumerate(images)}
    ques = text_of(row["instruction"]) or text_of(row["task_id"])
    succeeded = bool(row[_VERDICT]) if row.get(_VERDICT) in (0, 1) else None
    log, answer = text_of(row["web_surfer_log"]), text_of(row["final_answer"])
    return _episode(where, log, shots, ques, text_of(row["init_url"]), answer, succeeded)


def _object(path: Path) -> dict[str, Any]:
    """Of a file that need not be there; `task_data.json` may be a list of one."""
    found = read_json(path) if path.is_file() else {}
    found = found[0] if isinstance(found, list) and len(found) == 1 else found
    if not isinstance(found, dict):
        raise UserError(f"{path}: not an object")
    return found


def _episode(
    where: str,
    log: str,
    shots: Mapping[int, Path | bytes],
    ques: str,
    web: str,
    answer: str,
    succeeded: bool | None,
) -> Episode:
    events = list(_events(where, log))
    if not ques or not events:
        raise NoTaskError(f"{where}: holds no task, or no action in its {_LOG}")
    steps = []
    for place, event in enumerate(events):
        at = f"{where}, step {place + 1}"
        if place not in shots:
            raise NoImageError(f"{at}: has no screenshot{place}.png")
        steps.append(_step(at, event, shots[place], "" if answer == _NOTHING else answer))
    first = web or next((step.url for step in steps if step.url), "") or "unknown"
    return Episode(where, ques, first, steps, succeeded)


def _events(where: str, log: str) -> Iterator[dict[str, Any]]:
    for count, line in enumerate(log.splitlines(), start=1):
        try:
            event = parse_json(line) if line.strip() else None
        except ValueError:
            raise UserError(f"{where}: line {count} of its {_LOG} is no JSON") from None
        if isinstance(event, dict) and event.get("action") is not None:
            if not isinstance(event.get("arguments"), dict):
                raise UserError(f"{where}: line {count} of its {_LOG}: an action without arguments")
            yield event


def _step(where: str, event: Mapping[str, Any], image: Path | bytes, answer: str) -> EpisodeStep:
    told = event["arguments"]
    thought = text_of(told.get("thoughts"))
    act = lambda screen: [_action(screen, event, answer or thought)]  # noqa: E731 - of this event
    return step_of(where, image, act, scale=PX_RESIZED, thought=thought, url=text_of(event.get("url")))


def _action(screen: Screen, event: Mapping[str, Any], answer: str) -> AnyAction:
    told: Mapping[str, Any] = event["arguments"]

    def at() -> Point:
        x, y = told["coordinate"]
        return point_at(PX_RESIZED, screen, x, y)

    match text_of(told.get("action")) or text_of(event["action"]):
        case "click" | "left_click":
            return ClickAt(at())
        case "hover" | "mouse_move":
            return HoverAt(at())
        case "input_text" | "type":
            text = words(told["text"] if "text" in told else told["text_value"])
            replace, enter = told.get("delete_existing_text") is True, told.get("press_enter") is not False
            return Write(text, at() if told.get("coordinate") else None, replace=replace, enter=enter)
        case "key" | "keypress":
            return pressed(told["keys"])
        case "scroll":
            return ScrollAt(0, -number(told["pixels"]))  # theirs are positive upwards
        case "visit_url":
            return GoTo(words(told["url"]))
        case "web_search":  # which opens this address
            return GoTo(f"https://www.bing.com/search?q={quote_plus(words(told['query']))}&FORM=QBLH")
        case "history_back":
            return GoBack()
        case "wait" | "sleep":
            return Wait()
        case "stop" | "terminate":
            return Answer(answer)
        case other:
            raise UnsaidError(json.dumps(other)[1:40].strip('"'))
