"""The shell blocks of docs/tutorials/ run as they stand there, page by page.

A comment that readers do not see stands before a block that is not simply typed:

    <!-- not run: REASON -->
    <!-- stays: URL URL -->    of servers; the URL of each line answers once it is ready
    <!-- ends with 2 -->       its exit code
"""

import contextlib
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT, in_foreground
from tests.test_literal_commands import clone, environment  # noqa: F401, a fixture

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]
BLOCK = re.compile(r"(?:^<!-- ([^\n]*) -->\n)?^```bash\n(.*?)^```", re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "tutorials").glob("*.md")), ids=lambda page: page.name)
def test_a_page_can_be_typed(page: Path, clone: Path) -> None:  # noqa: F811
    with contextlib.ExitStack() as servers:
        for note, commands in BLOCK.findall(page.read_text(encoding="utf-8")):
            kind, _, said = note.partition(": ")
            if kind == "stays":
                for line, url in zip(commands.splitlines(), said.split(), strict=True):
                    servers.enter_context(serving(line, url, clone))
            elif kind != "not run":
                done = subprocess.run(["bash", "-ec", commands], **_in(clone), stdout=subprocess.PIPE, text=True)
                assert done.returncode == int(note.removeprefix("ends with ") or 0), f"{commands}{done.stdout}"
                assert "Traceback" not in done.stdout


@contextlib.contextmanager
def serving(line: str, url: str, clone: Path) -> Iterator[None]:  # noqa: F811
    process = subprocess.Popen(["bash", "-c", f"exec {line}"], **_in(clone), preexec_fn=in_foreground)
    asked = ["curl", "--silent", "--fail", "--retry", "180", "--retry-delay", "1", "--retry-connrefused", url]
    try:
        subprocess.run(asked, check=True, stdout=subprocess.DEVNULL)
        assert process.poll() is None, line
        yield
    finally:
        process.terminate()
        process.wait(60)


def _in(clone: Path) -> dict[str, object]:  # noqa: F811
    return {"cwd": clone, "env": environment(clone), "stderr": subprocess.STDOUT}
