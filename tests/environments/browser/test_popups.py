"""Tabs and windows that pages open themselves, as the pages of real websites do it."""

import asyncio
import urllib.parse
from collections.abc import Iterator

import pytest

from data.actions.action import Click, GoBack, Wait
from data.actions.point_action import AnyAction, CloseTab, OpenTab, SelectTab
from data.task import Task
from environments.browser.config import BrowserConfig
from environments.browser.environment import BrowserEnvironment
from environments.environment import Observation
from tests.answering import Request, answering
from tests.environments.conftest import OneBrowser
from tests.environments.website import find

PAGES = {
    "/": """<title>Desk</title><h1>Desk</h1><p id=out>nothing yet</p><input aria-label=Name>
<script>onmessage = (event) => out.textContent = 'told ' + event.data
let child, made = new Blob(['<h1>Made of a blob</h1>'], {type: 'text/html'})</script>
<button onclick="window.open('/pick', 'pick', 'width=200,height=100')">Pick</button>
<button onclick="child = window.open(); child.document.write('<h1>Written here</h1>');
  child.document.close()">Write</button>
<button onclick="window.open(window.URL.createObjectURL(made))">Blob</button>
<button onclick="child = window.open(''); setTimeout(() => child.location = '/late', 700)">Late</button>
<a href="/quiet" target=_blank rel="noopener noreferrer">Quiet link</a>
<form method=post action=/post target=_blank enctype=multipart/form-data><input name=word value=sent>
<button>Post</button></form>
<button onclick="for (let i = 0; i < 3; i++) window.open('/one?' + i)">Three</button>
<button onclick="window.open('/mother')">Mother</button>
<button onclick="child = window.open('/one');
  setTimeout(() => { child.close(); out.textContent = 'gone ' + child.closed }, 300)">Brief</button>
<button onclick="window.open('http://127.0.0.1:9/')">Dead</button>
<button onclick="window.open('/pick', 'pick'); location = '/moved'">Leave</button>
<button onclick="window.open('/one?' + Date.now(), 'same')">Again</button>
<button onclick="for (let i = 0; i < 40; i++) window.open('/one?' + i)">Forty</button>
<button onclick="window.open('/brief')">Flash</button>
<button onclick="window.open('/one'); alert('both')">Both</button>
<iframe srcdoc="<button onclick=&quot;window.open('/one')&quot;>Framed</button>"></iframe>""",
    "/pick": "<h1>Pick one</h1><button onclick=\"opener.postMessage('red', '*'); window.close()\">Red</button>"
    "<button onclick=\"opener.document.querySelector('input').value = 'by the other'; window.close()\">Fill</button>",
    "/mother": "<h1>Mother</h1><button onclick=\"window.open('/pick')\">Daughter</button>",
    "/late": "<h1>Came late</h1>",
    "/quiet": "<h1 id=t></h1><script>t.textContent = `opener ${opener} referrer '${document.referrer}'`</script>",
    "/brief": "<h1>Brief</h1><script>setTimeout(() => window.close(), 200)</script>",
    "/one": "<h1>One of them</h1>",
    "/moved": "<h1>Moved on</h1><script>onmessage = (event) => document.body.append(event.data)</script>",
}
_posts: list[str] = []


@pytest.fixture(scope="module")
def desk() -> Iterator[str]:
    def page(request: Request) -> tuple[int, bytes]:
        if request.method == "POST":
            _posts.append(request.body.decode())
            return 200, b"<h1>Posted</h1>"
        return 200, PAGES.get(urllib.parse.urlsplit(request.path).path, "").encode()

    with answering(page) as url:
        yield url


def play(browser: OneBrowser, url: str, *steps: str | AnyAction) -> list[tuple[Observation, str]]:
    """What is seen and told after each; a step is an action, or what reads the words of a text is clicked."""

    async def run() -> list[tuple[Observation, str]]:
        async with browser.fleet.page(0, browser.downloads) as page:
            environment = BrowserEnvironment(page, BrowserConfig())
            await environment.reset(Task("T--1", "Do it.", url))
            seen, found = await environment.observe(), []
            for step in steps:
                action = Click(int(find(seen.tree, step))) if isinstance(step, str) else step
                told = await environment.act(action)
                seen = await environment.observe()
                found.append((seen, told))
            return found

    return browser.wait(run())


SHOWN = {
    "of its own": ("'Pick'", "Pick one"),
    "written": ("'Write'", "Written here"),
    "of a blob": ("'Blob'", "Made of a blob"),
    "sent late": ("'Late'", "Came late"),
    "without an opener": ("Quiet link", "opener null referrer ''"),
    "posted to": ("'Post'", "Posted"),
    "the last of three": ("'Three'", "One of them"),
    "from a frame": ("'Framed'", "One of them"),
    "with a dialog": ("'Both'", "One of them"),
    "that does not load": ("'Dead'", ""),
    "one of very many": ("'Forty'", "One of them"),
}


@pytest.mark.parametrize("name", SHOWN)
def test_a_tab_is_shown_and_left_by_going_back(browser: OneBrowser, desk: str, name: str) -> None:
    press, words = SHOWN[name]
    _posts.clear()
    (seen, told), (back, _) = play(browser, f"{desk}/", press, GoBack())
    assert words in seen.tree and "is in front" in told and "in front" in " ".join(seen.tabs)
    assert "RootWebArea 'Desk'" in back.tree
    if name == "posted to":
        assert len(_posts) == 1 and "sent" in _posts[0]
    if name == "one of very many":
        assert "too many tabs" in told and len(seen.tabs) <= 8
    if name == "that does not load":
        assert "http://127.0.0.1:9/, which could not be loaded." in told
    if name == "with a dialog":
        assert '"both"' in told


def test_it_talks_to_its_opener_and_closes(browser: OneBrowser, desk: str) -> None:
    *_, (seen, told) = play(browser, f"{desk}/", "'Pick'", "'Red'")
    assert "told red" in seen.tree and "closed by its page" in told and not seen.tabs
    *_, (seen, _) = play(browser, f"{desk}/", "'Pick'", "'Fill'")
    assert "by the other" in seen.tree


def test_tabs_of_tabs_close_one_after_the_other(browser: OneBrowser, desk: str) -> None:
    _, (deep, _), (up, _), (top, _) = play(browser, f"{desk}/", "'Mother'", "Daughter", GoBack(), GoBack())
    assert "Pick one" in deep.tree and len(deep.tabs) == 3
    assert "heading 'Mother'" in up.tree and "RootWebArea 'Desk'" in top.tree


def test_an_opener_may_close_it_or_go_elsewhere_itself(browser: OneBrowser, desk: str) -> None:
    *_, (seen, _) = play(browser, f"{desk}/", "'Brief'", Wait())
    assert "gone true" in seen.tree
    (picked, _), (seen, _) = play(browser, f"{desk}/", "'Leave'", "'Red'")
    assert "Pick one" in picked.tree and "Moved on" in seen.tree and "red" in seen.tree


def test_a_tab_that_is_used_again_comes_to_the_front(browser: OneBrowser, desk: str) -> None:
    (_, _), (_, _), (seen, _) = play(browser, f"{desk}/", "'Again'", SelectTab(0), "'Again'")
    assert "One of them" in seen.tree and len(seen.tabs) == 2


def test_a_tab_that_closes_itself_at_once_leaves_what_was_there(browser: OneBrowser, desk: str) -> None:
    ((seen, _),) = play(browser, f"{desk}/", "'Flash'")
    assert "RootWebArea 'Desk'" in seen.tree and not seen.tabs


def test_where_the_last_tab_is_closed_the_task_begins_again(browser: OneBrowser, desk: str) -> None:
    """Chromium lets no page close a tab that no page opened; a crash of its window does."""

    async def run() -> None:
        async with browser.fleet.page(0, browser.downloads) as page:
            environment = BrowserEnvironment(page, BrowserConfig())
            await environment.reset(Task("T--1", "Do it.", f"{desk}/"))
            await environment.observe()
            await page.send("Page.close")
            while not page.closed:
                await asyncio.sleep(0.01)
            told = await environment.act(Wait())
            seen = await environment.observe()
            assert "closed by its page" in told and "RootWebArea 'Desk'" in seen.tree
            await environment.act(Click(int(find(seen.tree, "'Leave'"))))
            assert "Pick one" in (await environment.observe()).tree

    browser.wait(run())


@pytest.mark.parametrize("action", [Wait(), GoBack(), CloseTab(), SelectTab(0), OpenTab()])
def test_a_tab_may_close_while_the_agent_thinks(browser: OneBrowser, desk: str, action: AnyAction) -> None:
    async def run() -> None:
        async with browser.fleet.page(0, browser.downloads) as page:
            environment = BrowserEnvironment(page, BrowserConfig())
            await environment.reset(Task("T--1", "Do it.", f"{desk}/"))
            seen = await environment.observe()
            await environment.act(Click(int(find(seen.tree, "'Pick'"))))
            await environment.observe()
            opened = environment.page
            await page.run("() => window.open('', 'pick').close()")
            while not opened.closed:
                await asyncio.sleep(0.01)
            told = await environment.act(action)
            assert "closed by its page" in told and (await environment.observe()).tree.startswith(
                "[1] RootWebArea 'Desk'"
            )

    browser.wait(run())
