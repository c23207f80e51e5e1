"""Wait until a page has come to rest, by events instead of pauses.

At rest = the main frame does not load, no request that counts is in flight, and for `QUIET_S` since the action neither
the network nor the document changed. The page itself measures the quiet of its document, so that a busy machine delays
the page's timers and ours alike. Quiet counts from the action: counted from before it, a page that fetches its content
a moment after the click was observed half built.
"""

import asyncio
import contextlib
import time

from environments.browser.chromium.cdp import RefusedError
from environments.browser.page.frames import Frame
from environments.browser.page.page import Page
from environments.browser.scripts import script
from environments.faults import BrowserError

QUIET_S = 0.35  # long enough for content asked for 300 ms after the load event
CAP_S = 8.0
ARRIVAL_CAP_S = 15.0  # for a website's answer; then a person, too, would press stop
FRAME_CAP_S = 1.0
HANGS_S = 5.0  # a page whose scripts do not yield for so long


async def settle(page: Page, quiet_s: float = QUIET_S, cap_s: float = CAP_S) -> None:
    """Call right after an action; returns when the page is at rest, `cap_s` after its document came at the latest."""
    deadline = time.monotonic() + cap_s  # moved on by what it takes a document to come, but not for ever
    last_deadline = deadline + ARRIVAL_CAP_S
    window_s = quiet_s
    while window_s > 0 and not page.closed and (left_s := deadline - time.monotonic()) > 0:
        if page.activity.navigating:
            before = time.monotonic()
            await _arrive(page)
            deadline = min(deadline + time.monotonic() - before, last_deadline)
        try:
            main, *inner = page.frames
            frames = [_rest(page, main, window_s, left_s), *(_rest_inside(page, frame, window_s) for frame in inner)]
            await asyncio.gather(*frames)
            window_s = 0.0
        except RefusedError:  # the document was replaced meanwhile
            window_s = quiet_s
        except BrowserError:
            if not page.activity.navigating:
                raise
            window_s = quiet_s
        if page.activity.busy:
            if not page.activity.navigating:
                await page.activity.idle(deadline - time.monotonic())
            window_s = quiet_s
        window_s = max(window_s, quiet_s - page.activity.quiet_s())


async def _arrive(page: Page) -> None:
    """Wait for the document that the main frame asked for; one that does not come is given up."""
    if not await page.activity.arrived(ARRIVAL_CAP_S):
        with contextlib.suppress(RefusedError):  # it is coming just now
            await page.send("Page.stopLoading")
        page.say(f"The next page did not answer within {ARRIVAL_CAP_S:.0f} s, so loading it was stopped.")
        await page.activity.arrived(1.0)


async def _rest(page: Page, frame: Frame, window_s: float, cap_s: float) -> None:
    """Return when the frame's document was not changed for `window_s`."""
    milliseconds = round(window_s * 1000), round(cap_s * 1000)
    await page.run(script("settle.js"), *milliseconds, timeout_s=cap_s + HANGS_S, frame=frame)


async def _rest_inside(page: Page, frame: Frame, window_s: float) -> None:
    """The same for a frame inside the page, which holds it for a second only: advertisements never rest."""
    with contextlib.suppress(RefusedError, BrowserError):
        await _rest(page, frame, window_s, max(window_s, FRAME_CAP_S))
