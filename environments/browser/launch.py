"""Start and stop chromium: Selenium launches it through chromedriver, then one CDP connection does all the work."""

import asyncio
import contextlib
import functools
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import orjson
from selenium.common.exceptions import WebDriverException
from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service

from common.errors import UserError
from common.inherited import for_browser
from common.own_services import answer_of
from environments.browser.cdp import Connection, Params, RefusedError
from environments.browser.reaper import Reaper
from environments.faults import BrowserError

_ABOUT_TIMEOUT_S = 10.0
HEADLESS_SHELL = Path("/usr/lib/chromium/chromium-headless-shell")  # 1.9 times less memory than chromium --headless
BROWSER_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
DISABLED_FEATURES = (
    "BackForwardCache",
    "Translate",
    "OptimizationHints",
    "MediaRouter",
    "DialMediaRouteProvider",
    "RenderDocument",  # makes a new view for every link within a site: an eighth of a step's CPU
)
# Nothing but the pages themselves may use network or CPU, and pages in the background work like the one in front.
FLAGS = (
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
    "--disable-gpu",
    "--disable-extensions",
    "--disable-default-apps",
    "--disable-breakpad",
    "--disable-dev-shm-usage",
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
    f"--disable-features={','.join(DISABLED_FEATURES)}",
    "--mute-audio",
)

ATTACH_TABS = {
    "autoAttach": True,
    "waitForDebuggerOnStart": True,
    "flatten": True,
    "filter": [{"type": "page", "exclude": False}],
}


@dataclass
class Browser:
    """A running browser. `version` is its product string, such as `HeadlessChrome/156.0`."""

    driver: Chrome
    connection: Connection
    profile: Path
    version: str
    user_agent: str
    contexts: dict[str, Callable[[str, Params], None]] = field(default_factory=dict)

    async def watch_tabs(self) -> None:
        """Tell each context of `contexts` which tabs of it come and go, also those that pages open; each new one waits
        for `Runtime.runIfWaitingForDebugger`."""
        owners: dict[str, str] = {}

        def take(method: str, params: Params) -> None:
            if method == "Target.attachedToTarget":
                owners[params["sessionId"]] = params["targetInfo"].get("browserContextId", "")
            elif method != "Target.detachedFromTarget":
                return
            session_id = params["sessionId"]
            owner = owners.pop(session_id, "") if method == "Target.detachedFromTarget" else owners[session_id]
            if owner in self.contexts:
                self.contexts[owner](method, params)

        self.connection.on_event("", take)
        await self.connection.send("Target.setAutoAttach", ATTACH_TABS)


async def launch(reaper: Reaper, headless: bool, flags: Sequence[str] = ()) -> Browser:
    """Start a browser, with these switches besides ours, and connect to it.

    Raises:
        UserError: chromium or chromedriver is not installed, or there is no screen for a visible browser.
        BrowserError: it did not start.
    """
    binary, driver_path = find_binary(headless), find_chromedriver()
    if not headless and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        raise UserError("there is no screen to show a browser on; add --headless")
    profile = Path(tempfile.mkdtemp(prefix="elcano-browser-"))
    reaper.watch(profile)
    try:
        driver = await asyncio.to_thread(_start, binary, driver_path, profile, headless, flags)
        address = driver.capabilities["goog:chromeOptions"]["debuggerAddress"]
        about = await asyncio.to_thread(_about, address)
        connection = await Connection.open(about["webSocketDebuggerUrl"])
        user_agent = about["User-Agent"].replace("Headless", "")
        browser = Browser(driver, connection, profile, about["Browser"], user_agent)
        await browser.watch_tabs()
        return browser
    except (WebDriverException, OSError, BrowserError, RefusedError) as error:
        await asyncio.to_thread(reaper.done, profile)
        raise BrowserError(f"{binary} did not start: {_first_lines(error)}") from error


async def stop(browser: Browser, reaper: Reaper) -> None:
    """End a browser, its chromedriver and its profile folder, also one that hangs or died."""
    with contextlib.suppress(BrowserError):
        await browser.connection.send("Browser.close", timeout_s=3)
    await browser.connection.close()
    await asyncio.to_thread(reaper.done, browser.profile)
    browser.driver.service.process.wait()


def find_binary(headless: bool) -> Path:
    """The browser to start; the headless shell where there is one and no window is wanted."""
    if headless and HEADLESS_SHELL.exists():
        return HEADLESS_SHELL
    for name in BROWSER_NAMES:
        if found := shutil.which(name):
            return Path(found)
    raise UserError("chromium is not installed; on Debian or Ubuntu: apt-get install chromium chromium-driver")


def find_chromedriver() -> str:
    """Path of chromedriver."""
    found = shutil.which("chromedriver")
    if found is None:
        raise UserError("chromedriver is not installed; on Debian or Ubuntu: apt-get install chromium-driver")
    return found


def _start(binary: Path, driver_path: str, profile: Path, headless: bool, extra: Sequence[str]) -> Chrome:
    options = ChromeOptions()
    options.binary_location = str(binary)
    flags = [*FLAGS, *extra]
    if headless:
        flags.append("--headless")
    if os.geteuid() == 0:  # chromium's sandbox refuses to run as root
        _warn_of_root()
        flags.append("--no-sandbox")
    for flag in flags:
        options.add_argument(flag)
    # chromedriver makes the profile under TMPDIR (with --user-data-dir the headless shell would open no page and hang);
    # its log is not wanted, but the path marks its command line for the reaper.
    service = Service(
        driver_path,
        service_args=[f"--log-path={profile / 'chromedriver.log'}", "--log-level=SEVERE"],
        env={**for_browser(), "TMPDIR": str(profile)},
        popen_kw={"start_new_session": True},
    )
    return Chrome(options=options, service=service)


@functools.cache
def _warn_of_root() -> None:
    """Once a process: a page that breaks out of its renderer is then root itself."""
    print(
        "warning: running as root, so Chromium runs without its sandbox; for hostile websites run as another user "
        "(useradd -m elcano; sudo -u elcano ...), who needs no rights but to read this folder and write --output_dir",
        file=sys.stderr,
    )


def _first_lines(error: Exception) -> str:
    return " ".join(str(error).split("\nStacktrace")[0].split())[:300]


def _about(address: str) -> dict[str, str]:
    """What a browser says of itself."""
    answer = answer_of(f"http://{address}/json/version", _ABOUT_TIMEOUT_S)
    try:
        return orjson.loads(answer[1] if answer else b"")
    except orjson.JSONDecodeError:
        raise BrowserError(f"no DevTools answer at {address}") from None
