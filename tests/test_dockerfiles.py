"""What the Dockerfiles name is there. They are read, not built: there is no Docker where tests run."""

import json
import re
import shlex
import tomllib
from pathlib import Path

import pytest

from tests.conftest import ROOT

KNOWN = {"FROM", "RUN", "WORKDIR", "COPY", "ENV", "CMD"}
PROGRAMS = {"apt-get", "bash", "python3"}  # of the images that they begin with
VENV = "/elcano/.venv"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


@pytest.mark.parametrize("file", sorted(ROOT.glob("Dockerfile*")), ids=lambda file: file.name)
def test_a_dockerfile_names_what_is_there(file: Path) -> None:
    instructions = [line.split(maxsplit=1) for line in file.read_text().splitlines() if line and line[0] != "#"]
    names = [name for name, _ in instructions]
    assert names[0] == "FROM" and names[-1] == "CMD" and set(names) <= KNOWN
    assert ("WORKDIR", str(Path(VENV).parent)) in [tuple(instruction) for instruction in instructions]
    for name, words in instructions:
        if name == "COPY":
            assert words == ". ."
        elif name == "ENV":
            assert words == f"VIRTUAL_ENV={VENV} PATH={VENV}/bin:$PATH"
        elif name == "CMD":
            assert json.loads(words)[0] in PROJECT["scripts"]
        elif name == "RUN":
            for command in words.split(" && "):
                _check(shlex.split(command))


def _check(words: list[str]) -> None:
    assert words[0] in PROGRAMS or words[0] == ".venv/bin/pip", words
    for word in words[1:]:
        if re.search(r"\.(sh|txt)$", word):
            assert (ROOT / word).is_file(), word
        if extras := re.fullmatch(r"\.\[(.+)\]", word):
            assert set(extras[1].split(",")) <= set(PROJECT["optional-dependencies"]), word


def test_images_leave_out_what_is_made_here() -> None:
    ignored = (ROOT / ".dockerignore").read_text().split()
    assert {".git", ".venv", "runs"} <= set(ignored)
    assert not {"install.sh", "requirements.txt", "pyproject.toml", "README.md", "*"} & set(ignored)
