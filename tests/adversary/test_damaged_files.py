"""Files of every kind that is read here, damaged by accident or on purpose: read, or refused in one line, soon and
within bounds. A case is drawn from its number, so a failure names what makes it again."""

import os
import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from common.errors import UserError
from common.shown.terminal import error_line
from tests.adversary.damage import damaged, hostile
from tests.adversary.refusals import StillReadingError, limits
from tests.adversary.specimens import SPECIMENS

MOST_BYTES = 300 * 2**20
NAMES = list(SPECIMENS)


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A folder of each kind."""
    folders = {name: tmp_path_factory.mktemp("good") / "specimen" for name in NAMES}
    for name, folder in folders.items():
        folder.mkdir()
        SPECIMENS[name].write(folder)
    return folders


@pytest.mark.parametrize("name", NAMES)
def test_what_is_good_is_read(good: dict[str, Path], tmp_path: Path, name: str) -> None:
    assert list(troubles(name, good[name], tmp_path / "out", is_refusal_a_trouble=True)) == []


CASES = 150
MANY = 4_000


@pytest.mark.parametrize(
    "cases", [range(CASES), pytest.param(range(CASES, MANY), marks=pytest.mark.slow)], ids=["some", "many"]
)
def test_no_damage_is_a_traceback(good: dict[str, Path], tmp_path: Path, cases: range) -> None:
    found = [trouble for case in cases for trouble in troubles_of(case, good, tmp_path)]
    assert not found, "\n".join([f"{len(found)} troubles", *found[:20]])


def troubles_of(case: int, good: dict[str, Path], scratch: Path) -> Iterator[str]:
    """What goes wrong, "" for nothing, in the case of that number."""
    drawn, name = random.Random(case), NAMES[case % len(NAMES)]
    folder, out = scratch / "folder", scratch / "out"
    shutil.copytree(good[name], folder, copy_function=os.link)
    path = drawn.choice(sorted(one for one in folder.glob(SPECIMENS[name].damaged) if one.is_file()))
    content = drawn.choice((damaged, hostile))(path.read_bytes(), drawn)
    path.unlink()  # the others stay links
    path.write_bytes(content)
    for trouble in troubles(name, folder, out):
        yield f"case {case}, {name}, {path.relative_to(folder)}: {trouble}"
    shutil.rmtree(folder)


def troubles(name: str, folder: Path, out: Path, is_refusal_a_trouble: bool = False) -> Iterator[str]:
    for reading in SPECIMENS[name].readings:
        out.mkdir()
        what = getattr(reading, "__name__", "reading")
        before = reset_peak()
        try:
            with limits():
                reading(folder, out)
        except UserError as error:
            if is_refusal_a_trouble or "\n" in str(error) or len(error_line(error)) > 2100:
                yield f"{what}: {error}"
        except (Exception, StillReadingError) as error:
            yield f"{what}: {type(error).__name__} {str(error)[:300]}"
        if (grown := peak() - before) > MOST_BYTES:
            yield f"{what}: {grown >> 20} MB"
        shutil.rmtree(out)


def reset_peak() -> int:
    """Forget how large this process has been; returns how large it is, in bytes."""
    Path("/proc/self/clear_refs").write_text("5")
    return peak()


def peak() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) * 1024
