"""Actions at points of real pages, as models say them: where they land, and that what is said of them is true."""

import asyncio
import io
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest
from PIL import Image

from data.action_spaces import action_space, action_space_names
from data.actions.action import GoBack
from data.actions.point_action import ClickAt, CloseTab, DragAt, GoTo, OpenTab, Press, ScrollAt, SelectTab, Write
from data.actions.screen import Point
from environments.browser.config import BrowserConfig
from environments.browser.environment import BrowserEnvironment
from environments.browser.page.context import Context
from environments.browser.page.downloads import MAX_DOWNLOAD_MB
from environments.browser.page.page import Viewport
from tests.environments.conftest import OneBrowser
from tests.environments.points import at, click, do, task
from tests.environments.scripted import play


@pytest.mark.parametrize("scale", [1.0, 2.0])
def test_a_point_lands_where_the_screenshot_shows_it(browser: OneBrowser, url: str, scale: float) -> None:
    """The error of the way from a pixel of the image to a click in the page, at one and two of them a CSS pixel."""
    viewport, targets = Viewport(1280, 1000, scale), [(0, 0), (1279, 999), (333, 777)]

    async def run() -> None:
        async with browser.page(url) as other:
            context = await Context.open(other.browser, viewport, browser.downloads, MAX_DOWNLOAD_MB)
            page = await context.new_page()
            await page.goto(f"{url}/second")
            environment = BrowserEnvironment(page, BrowserConfig(viewport=viewport))
            await environment.reset(task(f"{url}/second"))
            for left, top in targets:
                await page.run(_DRAW, left, top)
                seen = await environment.observe()
                assert seen.screen.viewport == (1280, 1000)
                assert seen.screen.screenshot == (1280 * scale, 1000 * scale)
                with Image.open(io.BytesIO(seen.screenshot_png)) as image:
                    red = image.convert("RGB").point(lambda value: value > 128 and 255)
                    x, y, *_ = red.getchannel("R").getbbox()  # of a black page
                width, height = seen.screen.screenshot
                for space in SPACES:
                    across, down = space.scale.size(seen.screen)
                    named = space.scale.point(seen.screen, [x * across / width, y * down / height])
                    assert (named.x, named.y) == pytest.approx((left, top), abs=1e-9), space.name
                await environment.act(ClickAt(Point(round(named.x, 6), round(named.y, 6))))
                assert await page.run("() => elcano.hit") == [left, top]

    browser.wait(run())


SPACES = [space for name in action_space_names() if (space := action_space(name)).scale is not None]
_DRAW = """(left, top) => {
    document.documentElement.style.background = "black";
    const place = `left:${left}px;top:${top}px`;
    document.body.innerHTML = `<i style="position:fixed;background:red;width:9px;height:9px;${place}">`;
    elcano.hit = null;
    document.onclick = (event) => (elcano.hit = [event.clientX, event.clientY]);
}"""


def test_what_came_of_an_action_is_said(browser: OneBrowser, url: str) -> None:
    """Much in one page, since each action waits until it rests."""
    menu, field, day = click("combobox 'Fare'"), click("Search here"), click("Date 'Day'")
    steps = {
        Write("words"): "Failed: Nothing has the focus that text could go into: click a textbox first.",
        click("heading 'Harbour'"): 'Clicked <h1> "Harbour", which is no link, button or field.',
        click("Greyed out"): 'Failed: <button> "Greyed out" is disabled.',
        menu: '<select> "Fare" is a menu; type one of its choices: Standard single; Day return.',
        Press(("Enter",)): "The menu stays closed: type one of its choices.",
        Write("Gold"): "Failed: The menu has no such option.",
        Write("Day return"): "Chose 'Day return'.",
        field: 'Clicked <input type=text> "Search here".',
        Write(" and new"): 'The <input> reads "old words and new" now.',
        day: 'Clicked <input type=date> "Day".',
        Write("2026-11-21"): 'The <input> reads "2026-11-21" now.',
        ScrollAt(0, -100): "Nothing moved: it cannot be scrolled further that way.",
        ScrollAt(0, 9000): "",
    }
    found = do(browser, f"{url}/", *steps)
    assert [said for _, said in found] == list(steps.values())
    trees = [seen.tree for seen, _ in found]
    assert "fare r" in trees[6] and "day 2026-11-21" in trees[10] and "far below" in trees[12]


def test_tabs_and_where_they_are(browser: OneBrowser, url: str) -> None:
    steps = (
        lambda seen: Write("new", at(seen, "Search here"), replace=True, enter=True),
        OpenTab(),
        click("New tab"),
        SelectTab(0),
        SelectTab(2),
        GoBack(),  # out of the tab that a link opened: it is closed
        CloseTab(),
        CloseTab(),
        GoBack(),
        GoTo("file:///etc/passwd"),
    )
    typed, opened, followed, first, _, left, closed, last, back, refused = do(browser, f"{url}/", *steps)
    assert "Results for new" in typed[0].tree and f"The tab is at {url}/found?q=new now." in typed[1]
    assert opened[1] == f"Tab 1 is in front, at {url}/."
    assert followed[1] == f'Clicked <a> "New tab". Tab 2 is in front, at {url}/second?tab.'
    assert followed[0].tabs == (f"0: {url}/found?q=new", f"1: {url}/", f"2, in front: {url}/second?tab")
    assert left[1] == f"Tab 1 is in front, at {url}/."
    assert "Results for new" in first[0].tree and "Tabs of the browser:\n0, in front" in first[0].screen_text
    assert not closed[0].tabs and last[1] == "Failed: The only tab cannot be closed."
    assert "Harbour" in back[0].tree
    assert refused[1] == "Failed: file:///etc/passwd: only http and https pages are opened."


def test_a_file_input_names_the_files(browser: OneBrowser, wild: ThreadingHTTPServer, tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("Dear reader")
    address = f"http://127.0.0.1:{wild.server_address[1]}/upload"
    steps = click("Your file"), Write("letter.txt"), click("Attach"), Write("letter.txt")
    behind_a_label = click("'Kind'"), click("'Enclose"), Write("letter.txt")
    changed_its_mind = click("'Enclose"), click("'Kind'"), Write("Bill")
    found = do(browser, address, *steps, *behind_a_label, *changed_its_mind, upload_dir=tmp_path)
    asked, given, _, attached, _, _, enclosed, _, _, chosen = found
    assert "takes a file. Type the name of one of these into it: letter.txt." in asked[1]
    assert "StaticText 'letter.txt'" in given[0].tree and given[1] == "The file letter.txt was chosen."
    assert "attached letter.txt" in attached[0].tree
    assert "enclosed letter.txt" in enclosed[0].tree and enclosed[1] == "The file letter.txt was chosen."
    assert chosen[1] == "Chose 'Bill'."


@pytest.mark.slow
def test_things_are_dragged_by_points(browser: OneBrowser, wild: ThreadingHTTPServer) -> None:
    address = f"http://127.0.0.1:{wild.server_address[1]}/drag"
    [(seen, _)] = do(browser, address, lambda seen: DragAt(at(seen, "'Card'"), at(seen, "'Box'")))
    assert "dropped the card" in seen.tree


@pytest.mark.slow
@pytest.mark.parametrize("space", ["webrl", *(space.name for space in SPACES if not space.has_home)])
def test_the_teacher_solves_in_other_words_what_it_solves_by_numbers(space: str) -> None:
    """One task with a menu, a field and a button. All 75: python -m tests.environments.scripted"""
    assert asyncio.run(play(space, ["Shop-options-test--000"], 1)) == {"Shop-options-test--000": 1.0}
