"""A browser whose pages read another clock than the machine's: that of a server which is not of today."""

from environments.browser.page.page import Page
from environments.browser.scripts import script


async def shift_clock(page: Page, ahead_s: float) -> None:
    """Have the scripts of all documents that the page's context opens from now on read a clock that is so many seconds
    ahead of the machine's."""
    source = f"({script('clock.js')})({round(ahead_s * 1000)})"
    await page.context.begin_with(("Page.addScriptToEvaluateOnNewDocument", {"source": source}))
