"""Sets that ask where something is, as episodes of one click: OS-Atlas' and UGround's.

    os_atlas     {"img_filename", "elements": [{"instruction", "bbox": [left, top, right, bottom] as shares,
                 "data_type"}]} (OS-Copilot/OS-Atlas-data, `*_splited.json`; its web and mobile files have one element
                 a record)
    uground      rows or records of `image`, `conversations`: what is asked, and "(x, y)" or a box in thousandths
                 (osunlp/UGround-V1-Data and -Data-Box on Hugging Face)

Fractions up to 1 are shares. The click is at the center of a box. The box is element 2 of a tree that knows no more.
"""

import ast
import dataclasses
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from common.errors import UserError
from common.files import parse_json
from data.actions.point_action import ClickAt
from data.actions.screen import REL1, REL1000, Scale
from data.conversation import IMAGE
from toolkits.readers.reading.references import image_behind
from toolkits.readers.reading.steps import NoImageError, find_image, objects_in, text_of
from toolkits.readers.reading.stream import stream_objects
from toolkits.readers.research.episodes import (
    NO_SCREENSHOT,
    Episode,
    box_center,
    lost,
    number,
    only_box,
    point_at,
    step_of,
)

_ASKED = re.compile(r".*Description:\s*(.+?)\s*(?:Answer:\s*)?", re.DOTALL)
_NUMBERS = re.compile(r"[\[(]\s*-?[\d.]+(?:\s*,\s*-?[\d.]+){1,3}\s*[\])]")


def read_os_atlas(paths: Sequence[Path], image_dir: Path) -> Iterator[Episode]:
    """An episode for every element.

    Raises:
        UserError: naming file and record.
    """
    for where, record, name in _records(paths):
        elements = record.get("elements", [record])
        try:
            image = image_dir / find_image(where, image_dir, name)
        except NoImageError as error:
            yield lost(str(error), NO_SCREENSHOT)
            continue
        for place, element in enumerate(objects_in(f"{where}: elements", elements), start=1):
            where_element, kind = f"{where}, element {place}", text_of(element.get("data_type"))
            episode = pointing(where_element, name, image, asked_of(element), REL1, element.get("bbox"))
            yield dataclasses.replace(episode, kind=kind)


def read_uground(paths: Sequence[Path], image_dir: Path) -> Iterator[Episode]:
    """An episode for every pair; see `read_os_atlas`."""
    for where, row in _rows(paths):
        turns = row.get("conversations")
        try:
            turns = parse_json(turns) if isinstance(turns, str) else turns
        except ValueError:
            raise UserError(f"{where}: its conversations are no JSON") from None
        turns = objects_in(f"{where}: conversations", turns)
        try:
            image = image_behind(where, row.get("image"), [image_dir])
        except NoImageError as error:
            yield lost(str(error), NO_SCREENSHOT)
            continue
        for place, (asked, said) in enumerate(zip(turns[::2], turns[1::2], strict=False), start=1):
            ques = text_of(asked.get("value")).replace(IMAGE, "").strip()
            found = _ASKED.fullmatch(ques)
            numbers = _NUMBERS.fullmatch(text_of(said.get("value")).strip())
            if not numbers:
                raise UserError(f"{where}, pair {place}: its answer is neither a point nor a box")
            name = str(image) if isinstance(image, Path) else where
            box = list(ast.literal_eval(numbers[0]))
            are_shares = any(isinstance(side, float) for side in box) and max(box) <= 1
            ques = found[1] if found else ques
            yield pointing(f"{where}, pair {place}", name, image, ques, REL1 if are_shares else REL1000, box)


def _records(paths: Sequence[Path]) -> Iterator[tuple[str, dict[str, Any], str]]:
    for path in paths:
        for where, record in stream_objects(path):
            name = text_of(record.get("img_filename"))
            if not name:
                raise UserError(f"{where}: has no img_filename")
            yield where, record, name


def _rows(paths: Sequence[Path]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path in paths:
        if path.suffix != ".parquet":
            yield from stream_objects(path)
            continue
        from data.shards.parquet.parquet_file import iter_rows  # imported here: pyarrow takes a second

        for place, row in enumerate(iter_rows(path, ["image", "conversations"]), start=1):
            yield f"{path}: row {place}", row


def asked_of(element: Mapping[str, Any]) -> str:
    """What is to be found."""
    return text_of(element.get("instruction")).strip()


def sides_of(where: str, box: Any, *lengths: int) -> list[float]:
    """The numbers of a box or point, as many as one of `lengths`; `UserError` for anything else."""
    try:
        found = [number(side) for side in box]
    except TypeError:
        found = []
    if len(found) not in lengths:
        raise UserError(f"{where}: its box or point is not {' or '.join(map(str, lengths))} numbers")
    return found


def pointing(where: str, name: str, image: Path | bytes, ques: str, scale: Scale, box: Any) -> Episode:
    """The episode of a click at a point, or at the center of [left, top, right, bottom]."""
    found = sides_of(where, box, 2, 4)
    if not ques:
        return lost(where, "elements that nothing describes")
    at: Callable[..., Any] = point_at if len(found) == 2 else lambda scale, screen, *box: box_center(scale, screen, box)
    box = only_box(where, image, scale, found if len(found) == 4 else None)
    step = step_of(where, image, lambda screen: [ClickAt(at(scale, screen, *found))], scale=scale, **box)
    return Episode(where, ques, name, [step])
