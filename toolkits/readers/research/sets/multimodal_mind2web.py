"""Multimodal-Mind2Web (osunlp/Multimodal-Mind2Web on Hugging Face, Parquet, a row an action), as episodes.

Columns as its dataset card lists them; the forms of `operation` and of the candidates as Mind2Web's own code reads them
(OSU-NLP-Group/Mind2Web, `src/candidate_generation/dataloader.py`). A screenshot is the whole page before the action.
The candidates, positive and negative, become the numbered elements; their names are read from `cleaned_html`.
"""

import collections
import json
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from common.errors import UserError
from common.files import parse_json
from data.actions.point_action import AnyAction, ClickAt, HoverAt, Press, Write
from data.actions.screen import PX, Screen
from toolkits.readers.reading.steps import NoImageError, text_field, text_of
from toolkits.readers.research.encodings.html_elements import elements_of, tree_of
from toolkits.readers.research.episodes import Episode, EpisodeStep, UnsaidError, if_whole, number, point_at, step_of

_COLUMNS = (
    *("annotation_id", "website", "confirmed_task", "screenshot", "cleaned_html", "operation"),
    *("pos_candidates", "neg_candidates", "action_reprs", "target_action_index"),
)
Row = Mapping[str, Any]


def read_multimodal_mind2web(paths: Sequence[Path], image_dir: Path) -> Iterator[Episode]:
    """An episode for every demonstration, its rows in whichever files they are.

    Raises:
        UserError: naming file and row.
    """
    from data.shards.parquet.parquet_file import iter_batches, iter_rows  # imported here: pyarrow takes a second

    left, begun = collections.Counter[str](), collections.defaultdict(list)
    for path in paths:
        for batch in iter_batches(path, ["annotation_id"]):
            left.update(map(str, batch[0].to_pylist()))
    for path in paths:
        for place, row in enumerate(iter_rows(path, _COLUMNS), start=1):
            name, where = str(row["annotation_id"]), f"{path}: row {place}"
            begun[name].append((_index(where, row), where, row))
            left[name] -= 1
            if not left[name]:
                yield if_whole(where, partial(_episode, begun.pop(name)))


def _index(where: str, row: Row) -> int:
    said = str(row["target_action_index"])
    if not said.isdecimal() or len(said) > 6:
        raise UserError(f"{where}: its target_action_index {said[:20]!r} is not a number")
    return int(said)


def _episode(rows: list[tuple[int, str, Row]]) -> Episode:
    rows.sort(key=lambda one: one[0])
    _, where, first = rows[0]
    steps = [_step(place, row, index) for index, place, row in rows]
    missing = len(_listed(where, first, "action_reprs")) - len(rows)
    lost = {"steps that the set counts and these files do not hold": missing} if missing > 0 else {}
    ques = text_field(where, dict(first), "confirmed_task")
    return Episode(where, ques, text_of(first["website"]), steps, lost=lost)


def _step(where: str, row: Row, index: int) -> EpisodeStep:
    image, said = row["screenshot"], _listed(where, row, "action_reprs")
    content = image.get("bytes") if isinstance(image, dict) else image
    if image is None:  # so it is in some rows
        raise NoImageError(f"{where}: its screenshot is null")
    if not isinstance(content, bytes):
        raise UserError(f"{where}: its screenshot holds no bytes")
    wanted = [_candidate(where, one) for one in _listed(where, row, "pos_candidates")]
    others = [_candidate(where, one) for one in _listed(where, row, "neg_candidates")]
    page = text_of(row["cleaned_html"])
    elements = elements_of(page, [node for node, box, _ in (*wanted, *others) if box])
    labels = {element.node: label for label, element in enumerate(elements, start=2)}
    boxes = {labels[node]: box for node, box, _ in (*wanted, *others) if box}
    target = next((one for one in wanted if one[2]), wanted[0] if wanted else None)
    return step_of(
        where,
        content,
        lambda screen: _actions(screen, _object(where, row["operation"]), target),
        thought=text_of(said[index]) if index < len(said) else "",
        tree=tree_of(text_of(row["website"]), elements),
        boxes=boxes,
        element=labels.get(target[0]) if target else None,
        html=page,
    )


def _listed(where: str, row: Row, name: str) -> list[Any]:
    found = row[name]
    if not isinstance(found, list | None):
        raise UserError(f"{where}: its {name} are no list")
    return found or []


def _candidate(where: str, said: Any) -> tuple[str, list[float] | None, bool]:
    """(its node, its box if the page shows it, whether people acted on it and on none of its parents)."""
    candidate = _object(where, said)
    attributes = _object(where, candidate.get("attributes", {}))
    sides = text_of(attributes.get("bounding_box_rect")).split(",")
    try:
        box = [number(float(side)) for side in sides] if len(sides) == 4 else None
    except (ValueError, TypeError):
        raise UserError(f"{where}: the box of a candidate is not four numbers") from None
    node = str(candidate.get("backend_node_id", attributes.get("backend_node_id", "")))
    return node, box if box and box[2] > 0 and box[3] > 0 else None, candidate.get("is_original_target") is True


def _object(where: str, said: Any) -> dict[str, Any]:
    """Itself, or the JSON of one."""
    try:
        found = parse_json(said) if isinstance(said, str) else said
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise UserError(f"{where}: an operation or candidate is no object")
    return found


def _actions(screen: Screen, operation: Row, target: tuple[str, list[float] | None, bool] | None) -> list[AnyAction]:
    """`original_op` tells hovering and ENTER from the clicks that `op` counts them as."""
    kind = text_of(operation.get("original_op")) or text_of(operation.get("op"))
    if target is None or target[1] is None:
        raise UnsaidError(f"{kind} of an element that the page does not show")
    (left, top, width, height), (most_x, most_y) = target[1], screen.viewport
    right, bottom = min(left + width, most_x), min(top + height, most_y)
    at = point_at(PX, screen, (max(left, 0) + right) / 2, (max(top, 0) + bottom) / 2)
    value = operation.get("value") or ""
    if not isinstance(value, str):
        raise TypeError("a value that is no text")
    match kind:
        case "CLICK":
            return [ClickAt(at)]
        case "HOVER":
            return [HoverAt(at)]
        case "ENTER":
            return [ClickAt(at), Press(("Enter",))]
        case "TYPE":
            return [Write(value, at, replace=True)]
        case "SELECT":
            return [Write(value, at)]
        case _:
            raise UnsaidError(json.dumps(kind))
