"""Break conditions and operators of the product one at a time, and say which test notices.

    python tests/mutation.py --rooms common data --number 30 --table mutants.json

Each mutant is one change in one file of a copy of the repository. It meets the tests of its room that name the file's
module, then those of other rooms, until one fails. A mutant that nothing catches stands in the table with its line: a
test is missing there, or the change changes nothing. Draws depend on the seed only, and a table goes on.
"""

import ast
import copy
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from common import cli
from common.files import write_json

ROOT = Path(__file__).resolve().parent.parent
_OTHER: dict[type, type] = {
    **{ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq},
    **{ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.And: ast.Or, ast.Or: ast.And},
    **{ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult, ast.Mod: ast.Add},
}
_NOT_RUN = re.compile("TYPE_CHECKING|__name__")
_MOST_ELSEWHERE = 4  # files of tests in other rooms
_TIMEOUT_S = 900
_NO_TESTS = 5  # pytest's code where all of a file are slow


@dataclass(frozen=True)
class Config:
    """Break the product and see who notices."""

    rooms: tuple[str, ...] = ("common", "data")
    number: int = 30
    """Mutants of each room."""
    table: Path = Path("mutants.json")
    seed: int = 0


@dataclass(frozen=True)
class Mutant:
    file: str
    line: int
    change: str
    source: str


def mutants(file: str, source: str) -> Iterator[Mutant]:
    """One for each condition, comparison and operator."""
    tree = ast.parse(source)
    for at, node in enumerate(ast.walk(tree)):
        broken = _broken(node)
        if broken is None or not hasattr(node, "lineno") or _NOT_RUN.search(ast.unparse(node)):
            continue
        whole = copy.deepcopy(tree)
        place = next(one for number, one in enumerate(ast.walk(whole)) if number == at)
        place.__dict__.update(broken.__dict__)
        text = ast.unparse(ast.fix_missing_locations(whole))
        yield Mutant(file, node.lineno, f"{ast.unparse(node)[:60]} -> {ast.unparse(place)[:60]}", text)


def _broken(node: ast.AST) -> ast.AST | None:
    made = copy.deepcopy(node)
    match made:
        case ast.Compare(ops=[op, *rest]) if type(op) in _OTHER:
            made.ops = [_OTHER[type(op)](), *rest]
        case ast.BoolOp() | ast.BinOp() if type(made.op) in _OTHER:
            made.op = _OTHER[type(made.op)]()
        case ast.If() | ast.IfExp() if not isinstance(made.test, ast.Compare | ast.BoolOp):
            made.test = ast.UnaryOp(ast.Not(), made.test)
        case _:
            return None
    return made


def main(config: Config) -> None:
    """Write the table after each mutant, then print what was caught, by room."""
    found = json.loads(config.table.read_text()) if config.table.exists() else {}
    with tempfile.TemporaryDirectory() as folder:
        files = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split(
            "\n"
        )
        for file in filter(None, files):
            (Path(folder) / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / file, Path(folder) / file)
        for room in config.rooms:
            for mutant in _drawn(room, [file for file in files if file.startswith(f"{room}/")], config):
                key = f"{mutant.file}:{mutant.line} {mutant.change}"
                if key not in found:
                    found[key] = {"room": room, "caught_by": _caught_by(mutant, room, Path(folder), files)}
                    write_json(config.table, found)
                    print(key, "|", found[key]["caught_by"] or "NOBODY", flush=True)
    for room in config.rooms:
        by = Counter(one["caught_by"] for one in found.values() if one["room"] == room)
        print(f"| `{room}/` | {by.total()} | {by.total() - by['']} | {dict(by)} |")


def _drawn(room: str, files: list[str], config: Config) -> list[Mutant]:
    rng = random.Random(f"{config.seed} {room}")
    all_of = [one for file in files if file.endswith(".py") for one in mutants(file, (ROOT / file).read_text())]
    return rng.sample(all_of, min(config.number, len(all_of)))


def _caught_by(mutant: Mutant, room: str, folder: Path, files: list[str]) -> str:
    """The file of tests that fails; "" when none does."""
    module = mutant.file.removesuffix(".py").replace("/", ".")
    package, _, name = module.rpartition(".")
    names = re.compile(rf"{re.escape(module)}\b|from {re.escape(package)} import .*\b{name}\b")
    suites = [file for file in files if re.fullmatch(r"tests/\w+/test_\w+\.py", file)]
    tests = [file for file in suites if names.search((ROOT / file).read_text())]
    own = [file for file in tests if file.startswith(f"tests/{room}/")] or [f"tests/{room}"]
    place = folder / mutant.file
    place.write_text(mutant.source)
    try:
        for suite in (*own, *[file for file in tests if file not in own][:_MOST_ELSEWHERE]):
            command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-m", "not slow", suite]
            try:
                given = {**os.environ, "PYTHONPATH": str(folder), "OMP_NUM_THREADS": "1"}
                done = subprocess.run(command, cwd=folder, env=given, capture_output=True, timeout=_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                return f"{suite} (time-out)"
            if done.returncode not in (0, _NO_TESTS):
                return suite
    finally:
        shutil.copyfile(ROOT / mutant.file, place)
    return ""


if __name__ == "__main__":
    cli.run(Config, main, description=__doc__)
