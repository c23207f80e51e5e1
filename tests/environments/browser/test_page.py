"""Pages keep their size, their secrets and their faults to themselves."""

import io
import time

import pytest
from PIL import Image

from environments.browser.observation.frame_views import find_views
from environments.browser.observation.observe import observe
from environments.faults import BrowserError, PageError
from tests.environments.conftest import OneBrowser


def test_an_observation_is_of_the_wanted_size(browser: OneBrowser, url: str) -> None:
    async def run() -> tuple[tuple[int, int], list[int]]:
        async with browser.page(f"{url}/") as page:
            seen = await observe(page, "released")
            size = await page.run("() => [innerWidth, innerHeight, devicePixelRatio]")
            return Image.open(io.BytesIO(seen.screenshot_png)).size, size

    image_size, page_size = browser.wait(run())
    assert image_size == (1024, 768)
    assert page_size == [1024, 768, 1]


def test_text_that_is_no_text_does_no_harm(browser: OneBrowser, url: str) -> None:
    """A page may hold half of an emoji, which neither JSON nor a file can."""

    async def run() -> str:
        async with browser.page(f"{url}/odd") as page:
            return (await observe(page, "released")).tree

    assert "heading 'half ? emoji'" in browser.wait(run()).encode().decode()


def test_a_crash_ends_only_its_own_page(browser: OneBrowser, url: str) -> None:
    async def run() -> str:
        async with browser.page(f"{url}/") as page, browser.page(f"{url}/second") as other:
            begin = time.monotonic()
            with pytest.raises(BrowserError, match="the page crashed"):
                await page.send("Page.crash")
            assert time.monotonic() - begin < 5
            return (await observe(other, "released")).tree

    assert "Second page" in browser.wait(run())


def test_an_address_that_does_not_answer_is_a_page_fault(browser: OneBrowser, dead_port: int) -> None:
    async def run() -> None:
        async with browser.page(f"http://127.0.0.1:{dead_port}/"):
            pass

    with pytest.raises(PageError, match="ERR_CONNECTION_REFUSED"):
        browser.wait(run())


def test_our_scripts_cannot_be_seen_by_the_page(browser: OneBrowser, url: str) -> None:
    async def run() -> tuple[str, str]:
        async with browser.page(f"{url}/") as page:
            await page.run("() => { globalThis.ours = 'secret' }")
            theirs = await page.send("Runtime.evaluate", {"expression": "typeof ours + ' ' + navigator.userAgent"})
            return await page.run("() => ours"), theirs["result"]["value"]

    ours, theirs = browser.wait(run())
    assert ours == "secret"
    assert theirs.startswith("undefined Mozilla") and "Headless" not in theirs


@pytest.mark.parametrize(
    ("made", "length", "is_huge"),
    [
        ("<style>TEXT</style>", 300_000, False),
        ("<input type='hidden' value='TEXT'>", 300_000, False),
        ("<script type='application/json'>TEXT</script>", 3_000_000, True),
        ("<p>TEXT</p>", 300_000, True),
        ("<input value='TEXT'>", 300_000, True),
    ],
)
def test_only_what_is_shown_makes_a_page_too_large_to_be_read_whole(
    browser: OneBrowser, url: str, made: str, length: int, is_huge: bool
) -> None:
    """And styles and scripts that take long to be sent."""
    add = "(made, text) => document.body.insertAdjacentHTML('beforeend', made.replace('TEXT', text))"

    async def run() -> bool:
        async with browser.page(f"{url}/") as page:
            await page.run(add, made, "words " * (length // 6))
            return (await find_views(page))[0].is_huge

    assert browser.wait(run()) == is_huge
