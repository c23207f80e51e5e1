"""The watchdog that leaves no browser and no temporary folder behind when its owner is killed, even by kill -9.

It runs in a session of its own and reads its owner's orders from a pipe, one folder a line:

    watch <folder>      a browser with this profile is about to start, or the folder is in use
    done <folder>       it was stopped and cleaned up in good order

When the pipe ends, the owner is gone: whatever is still watched is killed and its folder removed.
A browser is known by its profile folder, which the command lines of chromium name, and by the session that it leads.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path


class Reaper:
    """The owner's end of the pipe. One watchdog serves all browsers of a process; one that dies is replaced."""

    def __init__(self) -> None:
        self._watched: set[Path] = set()
        self._lock = threading.Lock()
        self._closing = False
        self._start()
        threading.Thread(target=self._replace, daemon=True).start()

    def watch(self, profile: Path) -> None:
        """From now on the browser with this profile dies with us."""
        with self._lock:
            self._watched.add(profile)
            self._order("watch", profile)

    def done(self, profile: Path) -> None:
        """Kill what is left of a browser that was stopped, and forget it."""
        reap(profile)
        with self._lock:
            self._watched.discard(profile)
            self._order("done", profile)

    def close(self) -> None:
        """End the watchdog; it reaps what was not `done`."""
        with self._lock:
            self._closing = True
            assert self._process.stdin is not None
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.close()
        if not sys.is_finalizing():  # at the program's end the thread that waits for it is frozen, and holds its lock
            self._process.wait(timeout=20)

    def _start(self) -> None:
        from common.inherited import for_python  # not in the watchdog itself, which sees no room of ours

        self._process = subprocess.Popen(
            [sys.executable, "-I", __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
            cwd="/",
            env=for_python(),
        )
        for profile in self._watched:
            self._order("watch", profile)

    def _replace(self) -> None:
        """In a thread: whoever kills the watchdog must not set the browsers free."""
        while True:
            self._process.wait()
            with self._lock:
                if self._closing:
                    return
                self._start()

    def _order(self, word: str, profile: Path) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # its successor is told by `_start`
            self._process.stdin.write(f"{word} {profile}\n".encode())
            self._process.stdin.flush()


@contextlib.contextmanager
def scratch(prefix: str) -> Iterator[Path]:
    """A temporary folder until the block ends, or this process, however it does."""
    with contextlib.closing(Reaper()) as reaper:
        folder = Path(tempfile.mkdtemp(prefix=prefix))
        reaper.watch(folder)
        yield folder


def reap(profile: Path) -> None:
    """Kill every process of the browser, then remove its profile folder."""
    deadline = time.monotonic() + 10
    while (pids := _processes(profile)) and time.monotonic() < deadline:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.02)
    shutil.rmtree(profile, ignore_errors=True)


def _processes(profile: Path) -> list[int]:
    """Living processes whose command line names the profile, and all others of their session where that is a browser's:
    its leader is one of them, or already dead. (A person's shell may run something that names the profile.)
    """
    sessions: dict[int, int] = {}
    named = set()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError):
            state, _, _, session = (entry / "stat").read_text().rpartition(")")[2].split()[:4]
            if state != "Z":
                sessions[int(entry.name)] = int(session)
                if str(profile).encode() in (entry / "cmdline").read_bytes():
                    named.add(int(entry.name))
    lost = {sessions[pid] for pid in named if sessions[pid] in named or sessions[pid] not in sessions} - {os.getsid(0)}
    return [pid for pid, session in sessions.items() if pid in named or session in lost]


def main() -> None:
    """Read orders until the pipe ends, then reap."""
    for stop in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(stop, signal.SIG_IGN)
    watched = set()
    for line in sys.stdin:
        word, profile = line.rstrip("\n").split(" ", 1)
        if word == "watch":
            watched.add(Path(profile))
        else:
            watched.discard(Path(profile))
    for profile in watched:
        reap(profile)


if __name__ == "__main__":
    main()
