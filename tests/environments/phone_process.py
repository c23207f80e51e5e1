"""A phone as a process of its own, which writes what is done to it into a file, a JSON list a line:

python -m tests.environments.phone_process FILE [PORT]

It prints its port.
"""

import asyncio
import json
import sys
from pathlib import Path

from common.processes import die_with_parent
from environments.android.daemon.daemon import daemon
from tests.environments.recording_screen import RecordingScreen


class Writing(list):
    """A list that writes down what is appended."""

    def __init__(self, path: Path):
        super().__init__()
        self._file = path.open("a", buffering=1)

    def append(self, item: tuple) -> None:
        super().append(item)
        self._file.write(json.dumps(item) + "\n")


async def main(path: Path, port: int) -> None:
    screen = RecordingScreen()
    screen.done = Writing(path)
    async with daemon(screen, port=port) as port:
        print(port, flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    die_with_parent()
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0))
