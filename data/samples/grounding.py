"""Grounding: what a sample of one screenshot asks to be pointed at. It stands in the field `grounding` of a record.

import_data.py writes it for sets that ask where something is (ScreenSpot, OS-Atlas, UGround), shards carry it along,
and measure_pointing.py asks by it. `ques` is what is asked, `box` is [left, top, right, bottom] in pixels of the
screenshot, `platform` and `kind` (`text`, `icon`) are by what results are reported.
"""

import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from common.errors import UserError
from common.files import read_records
from common.options.fields import check_fields

FIELD = "grounding"


@dataclasses.dataclass(frozen=True)
class Target:
    """What one sample asks for."""

    ques: str
    box: list[float]
    platform: str = ""
    kind: str = ""

    def holds(self, x: float, y: float) -> bool:
        """As ScreenSpot counts: the box's edges are of it."""
        left, top, right, bottom = self.box
        return left <= x <= right and top <= y <= bottom


@dataclasses.dataclass(frozen=True)
class GroundingSample:
    """A target, and the screenshot that shows it."""

    id: str
    image: Path
    target: Target


def read_grounding(files: Sequence[Path], folders: Sequence[Path]) -> Iterator[GroundingSample]:
    """The samples of all files that tell a box, with their images, which lie in one of `folders`.

    Raises:
        UserError: naming file and sample.
    """
    for file in files:
        for where, record in read_records(file):
            if not isinstance(record, dict) or not isinstance(record.get("id"), str):
                raise UserError(f"{where}: not a sample; import the set by toolkits/import_data.py")
            if FIELD in record:
                yield GroundingSample(record["id"], _image(where, record, folders), _target(where, record[FIELD]))


def _target(where: str, said: Any) -> Target:
    try:
        target = Target(**said)
    except TypeError:
        raise UserError(f"{where}: its {FIELD} is not {{ques, box, platform, kind}}") from None
    check_fields(f"{where}: {FIELD}", target)
    if len(target.box) != 4:
        raise UserError(f"{where}: its {FIELD}.box is not four numbers")
    return target


def _image(where: str, record: dict[str, Any], folders: Sequence[Path]) -> Path:
    names = record.get("images")
    name = names[0] if isinstance(names, list) and len(names) == 1 else None
    if isinstance(name, str) and "\0" not in name:
        relative = PurePosixPath(name)
        if not relative.is_absolute() and ".." not in relative.parts:
            for folder in folders:
                if (folder / relative).is_file():
                    return folder / relative
    raise UserError(f"{where}: its one image is in none of {', '.join(map(str, folders))}")
