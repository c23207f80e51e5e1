"""Phones without a phone: the touch world's, as devices that adb connects to.

    python -m environments.android.daemon --phones 2 --port 6555
    adb connect 127.0.0.1:6555 && adb connect 127.0.0.1:6556

The tasks of `environments.touch.make_tasks` run there by `--env android --devices 127.0.0.1:6555 127.0.0.1:6556`.
"""

import asyncio
import contextlib
import dataclasses
import functools
import sys
from pathlib import Path
from runpy import run_path
from typing import Annotated

try:
    from common import cli
except ModuleNotFoundError as missing:  # not the python of the virtual environment
    sys.exit(run_path(str(Path(__file__).resolve().parents[3] / "common" / "not_installed.py"))["say"](missing))

from common.options.limits import Checked, at_least, between
from common.processes import served
from common.reaper import scratch
from data.task import SITES, SITES_PORT
from environments.android.daemon.daemon import daemon
from environments.android.daemon.keys import read_keys
from environments.android.daemon.touch_phone import TouchPhone
from environments.browser.config import BrowserConfig
from environments.browser.gate.gate import Gate
from environments.touch.address import HOST
from environments.touch.chromium_screen import VIEWPORT

_SITES = (HOST, *(f"{name}.localhost" for name in SITES))


@dataclasses.dataclass(frozen=True)
class Config(Checked):
    """Offer phones to adb."""

    phones: Annotated[int, at_least(1)] = 1
    """How many, each with apps of its own."""
    port: Annotated[int, between(0, 65535)] = 6555
    """Of the first one; the others follow. 0: free ones."""
    adb_keys: Path | None = None
    """Public keys of clients that may connect, one a line, such as ~/.android/adbkey.pub. None: everybody on this
    machine."""


def main(config: Config) -> None:
    """Until it is stopped."""
    with served("environments.touch", SITES_PORT) as web_port, contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_offer(config, web_port))


async def _offer(config: Config, web_port: int) -> None:
    keys = None if config.adb_keys is None else read_keys(config.adb_keys)
    browser = BrowserConfig(viewport=VIEWPORT)
    home = f"http://{HOST}:{web_port}/"
    async with contextlib.AsyncExitStack() as stack:
        folder = stack.enter_context(scratch("elcano-phones-"))
        gate = stack.enter_context(Gate(browser.url_policy([], port=web_port, other_sites=_SITES)))
        fleet = await stack.enter_async_context(browser.fleet(config.phones, gate.flags()))
        for number in range(config.phones):
            open_page = functools.partial(fleet.open, number, folder / str(number))
            screen = TouchPhone(await open_page(), home, open_page)
            await screen.open(home)
            port = config.port + number if config.port else 0
            port = await stack.enter_async_context(daemon(screen, keys, port))
            print(f"a phone on 127.0.0.1:{port}, its pages on {home}", flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    cli.run(Config, main, description=__doc__)
