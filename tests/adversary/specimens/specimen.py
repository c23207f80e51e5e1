"""What a specimen is: a folder of good files, which of them are damaged, and all that reads them."""

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.toolkits.trajectories import screenshot

Reading = Callable[[Path, Path], Any]
"""Of (the folder with the specimen, an empty folder for what is made of it)."""


@dataclasses.dataclass(frozen=True)
class Specimen:
    """A folder that `write` fills, of which files that match `damaged` are damaged, and what `readings` do with it."""

    write: Callable[[Path], Any]
    damaged: str
    readings: tuple[Reading, ...]


TURNS = [{"from": "human", "value": "a <image>"}, {"from": "gpt", "value": "Thought: a\n\nAction: Wait"}]


def images(folder: Path) -> None:
    for number in range(3):
        (folder / f"{number}.png").write_bytes(screenshot(number))


def only(name: str, content: Any) -> Callable[[Path], None]:
    return lambda folder: (folder / name).write_text(json.dumps(content)) and None
