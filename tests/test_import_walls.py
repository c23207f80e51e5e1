"""Every import wall of pyproject.toml really stands: an import through it, of each forbidden thing, is found."""

import itertools
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import grimp

from tests.conftest import ROOT

SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
FOUND = re.compile(r"([\w.]+)\.probe_(\w+) -> ([\w.]+) \(l\.1\)")


def test_every_wall_forbids_what_it_names(tmp_path: Path) -> None:
    """A module of one import for each (room, what it must not import), all in one copy of the rooms."""
    between = [contract for contract in SETTINGS["contracts"] if contract["type"] == "forbidden"]
    forbidden = {
        (room, other)
        for contract in between
        for room in contract["source_modules"]
        for other in contract["forbidden_modules"]
    }
    said = _broken_by(tmp_path, forbidden)
    assert f"{len(between)} broken" in said
    assert {(room, other) for room, name, other in FOUND.findall(said) if name == _one_word(other)} == forbidden


def test_every_floor_of_a_room_holds(tmp_path: Path) -> None:
    """Within a room each floor must not import the one above it, nor its neighbor on the same floor."""
    within = [contract for contract in SETTINGS["contracts"] if contract["type"] == "layers"]
    forbidden = set()
    for contract in within:
        [room] = contract["containers"]
        floors = [[f"{room}.{name}" for name in floor.split(" | ")] for floor in contract["layers"]]
        forbidden |= {(below, above) for up, down in itertools.pairwise(floors) for above in up for below in down}
        forbidden |= {pair for floor in floors for pair in itertools.permutations(floor, 2)}
    said = _broken_by(tmp_path, forbidden)
    assert all(f"{contract['name']} BROKEN" in said for contract in within)
    assert {(room, other) for room, name, other in FOUND.findall(said) if name == _one_word(other)} >= forbidden


def _broken_by(folder: Path, imports: set[tuple[str, str]]) -> str:
    """What the linter says of a copy of the rooms with a module for each of these (room, what it imports)."""
    for room in SETTINGS["root_packages"]:
        shutil.copytree(ROOT / room, folder / room, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copyfile(ROOT / "pyproject.toml", folder / "pyproject.toml")
    for room, other in imports:
        (_package(folder, room) / f"probe_{_one_word(other)}.py").write_text(f"import {other}\n")
    command = [Path(sys.executable).parent / "lint-imports", "--no-cache"]
    environment = {"PYTHONPATH": str(folder), "COLUMNS": "300", "PATH": ""}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stdout


def _one_word(module: str) -> str:
    return module.replace(".", "_")


def _package(root: Path, name: str) -> Path:
    """The folder of a package; a module becomes one."""
    folder = root.joinpath(*name.split("."))
    if not folder.is_dir():
        folder.mkdir()
        shutil.move(folder.with_suffix(".py"), folder / "__init__.py")
    return folder


def test_the_walls_stand_as_the_rooms_are() -> None:
    done = subprocess.run([Path(sys.executable).parent / "lint-imports"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_import_leads_back_to_where_it_stands() -> None:
    """Also those inside functions, which hide a circle; not those that type checkers alone read."""
    graph = grimp.build_graph(*SETTINGS["root_packages"], exclude_type_checking_imports=True, cache_dir=None)
    pairs = ((one, other) for one in graph.modules for other in graph.find_modules_directly_imported_by(one))
    assert [way for one, other in pairs if (way := graph.find_shortest_chain(other, one))] == []
