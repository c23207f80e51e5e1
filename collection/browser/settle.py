"""Wait until a page has come to rest, by events instead of pauses.

At rest = the main frame does not load, no request that counts is in flight, and for `QUIET_S` since the action neither
the network nor the document changed. The page itself measures the quiet of its document, so that a busy machine delays
the page's timers and ours alike. Source of the rules: spec/browser.md §4, whose first version counted the quiet from
before the action and observed half-built pages.
"""

import time

from collection.browser.cdp import RefusedError
from collection.browser.page import Page, script

QUIET_S = 0.35  # long enough for content asked for 300 ms after the load event
CAP_S = 8.0


async def settle(page: Page, quiet_s: float = QUIET_S, cap_s: float = CAP_S) -> None:
    """Call right after an action; returns when the page is at rest, after `cap_s` at the latest."""
    deadline = time.monotonic() + cap_s
    window_s = quiet_s
    while window_s > 0 and (left_s := deadline - time.monotonic()) > 0:
        try:
            await page.run(script("settle.js"), round(window_s * 1000), round(left_s * 1000), timeout_s=left_s + 5)
            window_s = 0.0
        except RefusedError:  # the document was replaced meanwhile
            window_s = quiet_s
        if page.activity.busy:
            await page.activity.idle(deadline - time.monotonic())
            window_s = quiet_s
        window_s = max(window_s, quiet_s - page.activity.quiet_s())
