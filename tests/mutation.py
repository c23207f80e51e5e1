"""Break conditions and operators of the product one at a time, and say which test notices.

    python tests/mutation.py --rooms common data --number 30 --table mutants.json

Each mutant is one change in one file of a copy of the repository. It meets the tests of its room that name the file's
module, then those of other rooms, until one fails. A mutant that nothing catches stands in the table with its line: a
test is missing there, or the change changes nothing. Draws depend on the seed only, and a table goes on.
"""

import ast
import json
import multiprocessing
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fastapi  # noqa: F401  these are imported once, for all forks
import pyarrow.parquet  # noqa: F401
import pytest

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
_MOST_CPU_S = 120


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


def places(source: str) -> list[int]:
    """Where in the walk over a file's tree a condition, comparison or operator stands."""
    walk = enumerate(ast.walk(ast.parse(source)))
    return [at for at, node in walk if _broken(node) is not None and not _NOT_RUN.search(ast.unparse(node))]


def mutant(file: str, source: str, at: int) -> Mutant:
    tree = ast.parse(source)
    node: Any = next(node for number, node in enumerate(ast.walk(tree)) if number == at)
    before = ast.unparse(node)[:60]
    node.__dict__.update(_broken(node).__dict__)
    after = ast.unparse(ast.fix_missing_locations(tree))
    return Mutant(file, node.lineno, f"{before} -> {ast.unparse(node)[:60]}", after)


def _broken(node: Any) -> Any:
    """The node with another meaning, or None where there is none."""
    kind = _OTHER.get(type(node.ops[0] if isinstance(node, ast.Compare) else getattr(node, "op", None)))
    match node:
        case ast.Compare() if kind:
            return ast.Compare(node.left, [kind(), *node.ops[1:]], node.comparators)
        case ast.BoolOp() if kind:
            return ast.BoolOp(kind(), node.values)
        case ast.BinOp() if kind:
            return ast.BinOp(node.left, kind(), node.right)
        case ast.If() if not isinstance(node.test, ast.Compare | ast.BoolOp):
            return ast.If(ast.UnaryOp(ast.Not(), node.test), node.body, node.orelse)
        case ast.IfExp() if not isinstance(node.test, ast.Compare | ast.BoolOp):
            return ast.IfExp(ast.UnaryOp(ast.Not(), node.test), node.body, node.orelse)
    return None


def main(config: Config) -> None:
    """Write the table after each mutant, then print what was caught, by room."""
    found = json.loads(config.table.read_text()) if config.table.exists() else {}
    with tempfile.TemporaryDirectory() as folder:
        listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
        files = listed.stdout.splitlines()
        for file in files:
            (Path(folder) / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / file, Path(folder) / file)
        for room in config.rooms:
            for one in _drawn(room, [file for file in files if file.startswith(f"{room}/")], config):
                key = f"{one.file}:{one.line} {one.change}"
                if key not in found:
                    found[key] = {"room": room, "caught_by": _caught_by(one, room, Path(folder), files)}
                    write_json(config.table, found)
                    print(key, "|", found[key]["caught_by"] or "NOBODY", flush=True)
    for room in config.rooms:
        by = Counter(one["caught_by"] for one in found.values() if one["room"] == room)
        print(f"| `{room}/` | {by.total()} | {by.total() - by['']} | {dict(by)} |")


def _drawn(room: str, files: list[str], config: Config) -> list[Mutant]:
    rng = random.Random(f"{config.seed} {room}")
    sources = {file: (ROOT / file).read_text() for file in files if file.endswith(".py")}
    known = [(file, at) for file, source in sources.items() for at in places(source)]
    return [mutant(file, sources[file], at) for file, at in rng.sample(known, min(config.number, len(known)))]


def _caught_by(mutant: Mutant, room: str, folder: Path, files: list[str]) -> str:
    """The file of tests that fails; "" when none does."""
    module = mutant.file.removesuffix(".py").replace("/", ".")
    package, _, name = module.rpartition(".")
    names = re.compile(rf"{re.escape(module)}\b|from {re.escape(package)} import .*\b{name}\b")
    suites = [file for file in files if re.fullmatch(r"tests/\w+/test_\w+\.py", file)]
    tests = [file for file in suites if names.search((ROOT / file).read_text())]
    own = [file for file in tests if file.startswith(f"tests/{room}/")]
    others = [file for file in tests if file not in own]
    place = folder / mutant.file
    place.write_text(mutant.source)
    try:
        for suite in [*own, *others[:_MOST_ELSEWHERE]] or [f"tests/{room}"]:
            if code := _code_of(suite, folder):
                return suite if code > 0 else f"{suite} (took more than {_MOST_CPU_S} s)"
    finally:
        shutil.copyfile(ROOT / mutant.file, place)
    return ""


def _code_of(suite: str, folder: Path) -> int:
    """What pytest ends with, 0 where all tests are slow ones; negative where it never ended and was killed.

    It runs in a fork of this process, which has imported the libraries that most tests need, but nothing of the copy.
    """
    child = multiprocessing.get_context("fork").Process(target=_run, args=(suite, folder))
    child.start()
    child.join()
    return 0 if child.exitcode == pytest.ExitCode.NO_TESTS_COLLECTED else child.exitcode or 0


def _run(suite: str, folder: Path) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (_MOST_CPU_S, _MOST_CPU_S))
    os.chdir(folder)
    os.environ |= {"PYTHONPATH": str(folder), "OMP_NUM_THREADS": "1"}
    for name in [name for name in sys.modules if name.split(".")[0] == "common"]:
        del sys.modules[name]
    sys.path.insert(0, str(folder))
    with open(folder / "output.txt", "w") as output:
        os.dup2(output.fileno(), 1)
        os.dup2(output.fileno(), 2)
        os._exit(pytest.main(["-q", "-x", "-p", "no:cacheprovider", "-m", "not slow", suite]))


if __name__ == "__main__":
    cli.run(Config, main, description=__doc__)
