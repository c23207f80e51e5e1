"""Other users of this machine at our browsers: a port of DevTools or of a driver would let them be us."""

import asyncio
import contextlib
import os
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from environments.browser.chromium.launch import FLAGS
from environments.browser.fleet import Fleet
from environments.browser.page.page import Page, Viewport

_LISTENS = 0x10000  # in /proc/net/unix


def with_browsers(visit: Callable[[list[Page]], None], folder: Path) -> None:
    async def go() -> None:
        fleet = Fleet(2, headless=True, viewport=Viewport(), num_browsers=2)
        async with fleet, fleet.page(0, folder) as one, fleet.page(1, folder) as other:
            visit([one, other])

    asyncio.run(go())


def descriptors(pid: int) -> dict[str, str]:
    """What a running browser holds open, by number: it may close any while we read."""
    opened = {}
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            opened[entry.name] = str(entry.readlink())
    return opened


def test_nothing_of_a_browser_listens(tmp_path: Path) -> None:
    """Neither at a port nor at a socket without a file, which knows no rights."""
    ports, sockets, inodes = [], [], set()

    def look(pages: list[Page]) -> None:
        for page in pages:
            browser = psutil.Process(page.browser.process.pid)
            for process in (browser, *browser.children(recursive=True)):
                ports.extend(one for one in process.net_connections("inet") if one.laddr and not one.raddr)
                inodes.update(descriptors(process.pid).values())
        for line in Path("/proc/net/unix").read_text().splitlines()[1:]:
            flags, inode, path = line.split()[3], line.split()[6], line.split()[7:]
            if int(flags, 16) & _LISTENS and f"socket:[{inode}]" in inodes and (not path or path[0][0] == "@"):
                sockets.append(line)

    with_browsers(look, tmp_path)
    assert len(inodes) > 10 and ports == [] and sockets == []


def test_its_folder_and_its_pipes_are_ours_alone(tmp_path: Path) -> None:
    def look(pages: list[Page]) -> None:
        for page in pages:
            assert page.browser.profile.stat().st_mode & 0o077 == 0
            theirs = psutil.Process(page.browser.process.pid)
            assert not [word for word in theirs.cmdline() if "port" in word]
            opened = descriptors(theirs.pid)
            assert opened["3"].startswith("pipe:") and opened["4"].startswith("pipe:")
            assert str(tmp_path / "kept open") not in opened.values()

    with open(tmp_path / "kept open", "w") as file:
        os.set_inheritable(file.fileno(), True)  # as a shell's `exec 9>lock` is
        with_browsers(look, tmp_path)


def test_a_browser_whose_collector_is_gone_ends_by_itself(tmp_path: Path) -> None:
    async def go() -> int:
        fleet = Fleet(1, headless=True, viewport=Viewport())
        async with fleet, fleet.page(0, tmp_path) as page:
            await page.browser.connection.close()
            return await asyncio.wait_for(asyncio.to_thread(page.browser.process.wait), 20)

    assert asyncio.run(go()) is not None


@pytest.mark.parametrize("flag", ["--remote-debugging-port", "--remote-debugging-address", "--remote-allow-origins"])
def test_no_switch_opens_one(flag: str) -> None:
    assert not [one for one in FLAGS if one.startswith(flag)] and "--remote-debugging-pipe" in FLAGS
