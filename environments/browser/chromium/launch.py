"""Start and stop chromium: its pipes of DevTools are the only way to it, so that no port lets other users in.

What it is started with are Selenium's options; a driver of it, which would listen for everybody, is not run.
"""

import asyncio
import contextlib
import fcntl
import functools
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from selenium.webdriver import ChromeOptions

from common.errors import UserError
from common.inherited import for_browser
from common.reaper import Reaper
from environments.browser.chromium.cdp import Connection, Params, RefusedError
from environments.faults import BrowserError

HEADLESS_SHELL = Path("/usr/lib/chromium/chromium-headless-shell")  # 1.9 times less memory than chromium --headless
BROWSER_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_LOG = "chromium.log"
_BEYOND_THE_PIPES = 10
"""Descriptors from here on are neither 3 nor 4, which Chromium reads requests from and writes answers to."""
_TO_THE_PIPES = 'exec 3<&"$1"- 4>&"$2"-; shift 2; exec "$@"'
DISABLED_FEATURES = (
    "IgnoreDuplicateNavs",
    "Prewarm",
    "BackForwardCache",
    "Translate",
    "OptimizationHints",
    "MediaRouter",
    "DialMediaRouteProvider",
    "RenderDocument",  # makes a new view for every link within a site: an eighth of a step's CPU
)
# Nothing but the pages themselves may use network or CPU, and pages in the background work like the one in front.
FLAGS = (
    "--remote-debugging-pipe",
    "--enable-automation",
    "--test-type=webdriver",
    "--allow-pre-commit-input",
    "--disable-client-side-phishing-detection",
    "--disable-hang-monitor",
    "--disable-popup-blocking",
    "--disable-prompt-on-repost",
    "--no-service-autorun",
    "--password-store=basic",
    "--use-mock-keychain",
    "--log-level=3",
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

    process: subprocess.Popen[bytes]
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
        UserError: chromium or bash is not installed, or there is no screen for a visible browser.
        BrowserError: it did not start.
    """
    binary, bash = find_binary(headless), _find_bash()
    if not headless and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        raise UserError("there is no screen to show a browser on; add --headless")
    profile = Path(tempfile.mkdtemp(prefix="elcano-browser-"))
    reaper.watch(profile)
    try:
        process, requests, answers = await asyncio.to_thread(
            _start, bash, options(binary, profile, headless, flags), profile
        )
        connection = await Connection.open(requests, answers)
        about = await connection.send("Browser.getVersion")
        user_agent = about["userAgent"].replace("Headless", "")
        browser = Browser(process, connection, profile, about["product"], user_agent)
        await browser.watch_tabs()
        return browser
    except (OSError, BrowserError, RefusedError) as error:
        said = _last_words(profile / _LOG)
        await asyncio.to_thread(reaper.done, profile)
        raise BrowserError(f"{binary} did not start: {said or error}") from error


async def stop(browser: Browser, reaper: Reaper) -> None:
    """End a browser and remove its profile folder, also of one that hangs or died."""
    with contextlib.suppress(BrowserError):
        await browser.connection.send("Browser.close", timeout_s=3)
    await browser.connection.close()
    await asyncio.to_thread(reaper.done, browser.profile)
    browser.process.wait()


def find_binary(headless: bool) -> Path:
    """The browser to start; the headless shell where there is one and no window is wanted."""
    if headless and HEADLESS_SHELL.exists():
        return HEADLESS_SHELL
    for name in BROWSER_NAMES:
        if found := shutil.which(name):
            return Path(found)
    raise _not_installed("chromium")


def _find_bash() -> str:
    """What puts our pipes where Chromium looks for them."""
    if found := shutil.which("bash"):
        return found
    raise _not_installed("bash")


def _not_installed(name: str) -> UserError:
    return UserError(f"{name} is not installed; on Debian or Ubuntu: apt-get install {name}")


def options(binary: Path, profile: Path, headless: bool, extra: Sequence[str] = ()) -> ChromeOptions:
    """What a browser is started with, as Selenium has it; `extra` are switches besides ours."""
    made = ChromeOptions()
    made.binary_location = str(binary)
    for flag in (*FLAGS, *extra, f"--user-data-dir={profile / 'profile'}", *(["--headless"] if headless else [])):
        made.add_argument(flag)
    if os.geteuid() == 0:  # chromium's sandbox refuses to run as root
        _warn_of_root()
        made.add_argument("--no-sandbox")
    return made


def _start(bash: str, asked: ChromeOptions, profile: Path) -> tuple[subprocess.Popen[bytes], int, int]:
    """(the process, our end of its pipe of requests, of that of answers)."""
    pipes = [*os.pipe(), *os.pipe()]
    read_end, write_end = (fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, _BEYOND_THE_PIPES) for end in (pipes[0], pipes[3]))
    command = [bash, "-c", _TO_THE_PIPES, "bash", str(read_end), str(write_end)]
    command += [asked.binary_location, *asked.arguments, "about:blank"]
    try:
        with open(profile / _LOG, "wb") as log:
            process = subprocess.Popen(
                command,
                env={**for_browser(), "TMPDIR": str(profile)},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=(read_end, write_end),
                start_new_session=True,
            )
    except OSError:
        os.close(pipes[1])
        os.close(pipes[2])
        raise
    finally:
        for end in (pipes[0], pipes[3], read_end, write_end):
            os.close(end)
    return process, pipes[1], pipes[2]


@functools.cache
def _warn_of_root() -> None:
    """Once a process: a page that breaks out of its renderer is then root itself."""
    print(
        "warning: running as root, so Chromium runs without its sandbox; for hostile websites run as another user "
        "(useradd -m elcano; sudo -u elcano ...), who needs no rights but to read this folder and write --output_dir",
        file=sys.stderr,
    )


def _last_words(log: Path) -> str:
    lines = log.read_text(errors="replace").split("\n") if log.exists() else []
    return " ".join(next((line for line in reversed(lines) if line.strip()), "").split())[:300]
