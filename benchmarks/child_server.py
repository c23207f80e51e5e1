"""A server of a benchmark's own in another process, so that its CPU is nobody's."""

import contextlib
import socket
import subprocess
import sys
import time
from typing import Self

from benchmarks import usage
from common.defaults import ROOT
from common.processes import die_with_parent, free_port


class ChildServer:
    """`python -m module PORT words`, from the beginning of a `with` to its end; it dies with this process too."""

    def __init__(self, module: str, *words: object):
        self.port = free_port()
        self._command = [sys.executable, "-m", module, str(self.port), *map(str, words)]

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(self._command, cwd=ROOT, preexec_fn=die_with_parent)
        usage.ignored.add(self._process.pid)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=1):
                return self
            time.sleep(0.05)
        raise TimeoutError(f"{self._command[2]} did not start")

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
