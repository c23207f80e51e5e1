"""Back in a tab's history, as a browser's button does: past pages that send everyone on to where they come from."""

from environments.browser.acting.aim import failure
from environments.browser.chromium.cdp import Params
from environments.browser.page.page import Page
from environments.browser.page.settle import settle

MAX_PASSED = 5
_LOOK = "() => [document.title, document.body?.innerText ?? '', scrollX, scrollY].join()"


async def go_back(page: Page) -> str:
    """Show the page before. Returns a note where others were passed, or "".

    As a browser's button does, it passes what a script left before anything was done there. Of the others each is
    tried: one that does not stay, or shows the same again, is passed too.

    Raises:
        ActionError: there is none, or all of them lead here again.
    """
    history = await page.send("Page.getNavigationHistory")
    document, look = page.document, await page.run(_LOOK)
    start, before = _current(history), _before(history, history["currentIndex"], page.passing)
    if before is None:
        raise failure("There is no page to go back to.")
    for passed in range(MAX_PASSED):
        await page.send("Page.navigateToHistoryEntry", {"entryId": before["id"]})
        await settle(page)
        if page.closed:
            return ""
        history = await page.send("Page.getNavigationHistory")
        now = _current(history)
        is_same = page.document == document and await page.run(_LOOK) == look
        if (now["id"] == before["id"] and not is_same) or now["url"].split("#")[0] != start["url"].split("#")[0]:
            return f"{passed} entries of the history that show this page again were passed." if passed else ""
        numbers = [entry["id"] for entry in history["entries"]]
        before = _before(history, numbers.index(before["id"]), page.passing) if before["id"] in numbers else None
        if before is None:
            break
    raise failure("The page stayed: what lies before it in the history shows it again.")


def _current(history: Params) -> Params:
    return history["entries"][history["currentIndex"]]


def _before(history: Params, index: int, passing: set[str]) -> Params | None:
    """The entry before, unless it is the blank page that the tab began with."""
    for entry in reversed(history["entries"][:index]):
        if entry["url"] in ("", "about:blank"):
            return None
        if entry["url"] not in passing:
            return entry
    return None
