"""Types are checked in every room, as strictly as `pyproject.toml` says; `bash tests/run.sh` runs the checker."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

from common.defaults import ROOT

SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
_WRONG = {
    "reportArgumentType": "len(3)",
    "reportOptionalMemberAccess": "re.match('a', 'b').group()",
    "reportMissingParameterType": "def f(x): pass",
    "reportMissingTypeArgument": "def g(x: dict) -> None: pass",
    "reportUnusedVariable": "def h() -> None: y = 1",
    "reportUnnecessaryTypeIgnoreComment": "print()  # pyright: ignore[reportCallIssue]",
}


def test_every_room_is_checked() -> None:
    assert set(SETTINGS["basedpyright"]["include"]) == set(SETTINGS["importlinter"]["root_packages"])


def test_what_is_wrong_is_told(tmp_path: Path) -> None:
    settings = (ROOT / "pyproject.toml").read_text().replace('"tests/stubs"', f'"{ROOT}/tests/stubs"')
    (tmp_path / "pyproject.toml").write_text(re.sub(r"(?m)^include = \[.*\]$", 'include = ["probe.py"]', settings))
    (tmp_path / "probe.py").write_text("\n".join(["import re", *_WRONG.values(), ""]))
    command = [Path(sys.executable).parent / "basedpyright", "--project", "pyproject.toml"]
    done = subprocess.run(
        [*command, "--pythonpath", sys.executable], cwd=tmp_path, capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 1, done.stdout + done.stderr
    found = {
        int(line): rule
        for line, rule in re.findall(r"(?s)probe\.py:(\d+):\d+ - error: .*?\((report\w+)\)", done.stdout)
    }
    assert [found.get(line) for line in range(2, 2 + len(_WRONG))] == list(_WRONG), done.stdout
