"""Reports of toolkits/inspect_data.py, opened beside runs or alone: what they hold, checked, for the page of one."""

import base64
import binascii
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from common.errors import UserError
from common.files import parse_json
from data.data_report import MARK
from viewer.catalog.reading import read

_JPEG = b"\xff\xd8\xff"
_MOST = 10_000
"""Names or values of one kind that are shown."""


def open_reports(files: Sequence[Path]) -> dict[str, Path]:
    """Reports by what browsers call them; `UserError` where a file is none."""
    found: dict[str, Path] = {}
    for file in files:
        read_report(file)
        key = file.name
        while key in found:
            key += "+"  # another file of this name
        found[key] = file
    return found


def read_report(file: Path) -> dict[str, Any]:
    """`data`, `numbers` ([name, value] that are text, a number, or a list of such pairs), and `tiles` without pictures.

    Raises:
        UserError: the file is no report.
    """
    report = _read(file)
    try:
        numbers = [[name, _shown(value)] for name, value in report.items() if name not in ("kind", "data", "tiles")]
    except RecursionError:
        raise UserError(f"{file}: nested too deeply") from None
    tiles = [{name: str(tile.get(name, ""))[:500] for name in ("id", "action")} for tile in _tiles(report)]
    return {"data": str(report.get("data", "")), "numbers": numbers[:_MOST], "tiles": tiles}


def read_tile(file: Path, number: int) -> bytes:
    """The JPEG of a tile, from 0; `UserError` where there is none."""
    try:
        content = base64.b64decode(str(list(_tiles(_read(file)))[number].get("jpeg", "")), validate=True)
    except (IndexError, binascii.Error, ValueError):
        content = b""
    if not content.startswith(_JPEG):
        raise UserError(f"{file.name}: has no picture {number}")
    return content


def _read(file: Path) -> dict[str, Any]:
    content = read(file.parent, file.name)
    try:
        report = parse_json(content or b"")
    except ValueError:
        report = None
    if not isinstance(report, dict) or report.get("kind") != MARK:
        raise UserError(f"{file}: no folder, and no report of toolkits/inspect_data.py --output")
    return report


def _tiles(report: dict[str, Any]) -> Iterator[dict[str, Any]]:
    tiles = report.get("tiles")
    return (tile for tile in tiles if isinstance(tile, dict)) if isinstance(tiles, list) else iter(())


def _shown(value: Any) -> Any:
    if isinstance(value, dict):
        return [[str(name), _shown(one)] for name, one in value.items()][:_MOST]
    if isinstance(value, list):
        return ", ".join(str(_shown(one)) for one in value[:_MOST])
    return value if isinstance(value, int | float) and math.isfinite(value) else str(value)
