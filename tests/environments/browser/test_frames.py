"""What lies in iframes and shadow roots is seen, clicked and typed into, whoever's process draws it."""

import asyncio
import contextlib
from collections.abc import Iterator
from http.server import ThreadingHTTPServer

import pytest

from data.actions.action import ActionError, Scroll
from data.actions.point_action import ClickAt, ScrollAt, Write
from data.actions.screen import Point
from environments.browser.acting.actions import act
from environments.browser.chromium import launch
from environments.browser.observation.observe import observe
from environments.browser.page.settle import settle
from tests.environments import points, website
from tests.environments.conftest import OneBrowser, open_browser
from tests.environments.steps import click, do, write
from tests.environments.website import find

PAGES = {
    "/framed": """<title>Framed</title><h1>Outside</h1><p style="margin-top:150px">
        <iframe src="/inner" width="300" height="200" style="border:5px solid; padding:3px; margin-left:200px"></iframe>
        <iframe src="http://other.localhost:PORT/cross" width="300" height="200"></iframe>
        <iframe src="/inner?hidden" style="display:none"></iframe>
        <p style="margin-top:600px"><iframe src="/leaf" width="300" height="200"></iframe>""",
    "/inner": """<title>Inner</title><p>inner text</p><p style="margin-top:300px">
        <iframe src="http://third.localhost:PORT/leaf" height="60" style="border:0"></iframe>""",
    "/leaf": """<title>Leaf</title><button onclick="this.textContent = 'leaf pressed'">Press the leaf</button>""",
    "/cross": """<title>Cross</title><form action="/found"><input name="q" placeholder="Search there"></form>
        <button onclick="setTimeout(() => this.textContent = 'cross pressed', 250)">Press there</button>""",
    "/foreign": """<title>Foreign</title><iframe src="http://other.localhost:PORT/flees" width=400></iframe>""",
    "/flees": """<title>Flees</title><button id=it style="position:absolute; top:0">Flee</button><button id=all
        style="position:absolute; top:60px">Delete all</button><script>
        addEventListener("pointermove", () => { it.style.top = "60px"; all.style.top = 0 }, true);
        addEventListener("pointerdown", (event) => { document.title += " heard " + event.target.id }, true)
        </script>""",
    "/busy": """<title>Busy</title><iframe src="http://other.localhost:PORT/busy_too" width=400></iframe>
        <p id=said></p><script>
        const say = (event) => { said.textContent += event.data + ". " };
        addEventListener("message", say);
        new Worker("/outer.js").onmessage = say;
        new SharedWorker("/shared.js").port.onmessage = say;
        navigator.serviceWorker.onmessage = say;
        navigator.serviceWorker.register("/service.js");
        navigator.serviceWorker.ready.then((registered) => registered.active.postMessage("x"));
        new AudioContext().audioWorklet.addModule("/worklet.js").then(() => say({data: "worklet"}));
        </script>""",
    "/busy_too": """<title>Too</title><script>
        new Worker("/inner.js").onmessage = (event) => parent.postMessage(event.data + " of a frame", "*")</script>""",
    "/outer.js": """postMessage("worker");
        new Worker("/inner.js").onmessage = (event) => postMessage(event.data + " in it")""",
    "/inner.js": "postMessage('worker')",
    "/shared.js": "onconnect = (event) => event.ports[0].postMessage('shared worker')",
    "/service.js": """addEventListener("install", () => skipWaiting());
        addEventListener("message", (event) => event.source.postMessage("service worker"));""",
    "/worklet.js": "",
    "/scaled": """<title>Scaled</title><body style="margin:0"><iframe src="/around"
        width="300" height="200" style="border:4px solid; transform:scale(1.5); transform-origin:0 0"></iframe>""",
    "/around": """<title>Around</title><iframe src="/small" width="200" height="120" style="margin:30px; zoom:1.25">
        </iframe>""",
    "/small": """<title>Small</title><button onclick="this.textContent = 'pressed'" style="margin:40px 90px">Press
        </button>""",
    "/shadow": """<title>Shadow</title><h1>Light</h1><x-outer></x-outer><script>
        customElements.define("x-inner", class extends HTMLElement { connectedCallback() {
            this.attachShadow({mode: "open"}).innerHTML =
                `<a href="/second">Deep link</a> <input placeholder="Deep search">
                <button onclick="this.textContent = 'deep pressed'">Press deep</button>`; } });
        customElements.define("x-outer", class extends HTMLElement { connectedCallback() {
            this.attachShadow({mode: "open"}).innerHTML = "<p>outer</p><x-inner></x-inner>"; } });
        </script>""",
}


@pytest.fixture(scope="module", params=["one process", "a process a site"])
def browser(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OneBrowser]:
    """A browser that draws frames of other sites as the headless shell does, and one that does as a full chromium."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "a process a site":
            patch.setattr(launch, "FLAGS", (*launch.FLAGS, "--site-per-process"))
        yield from open_browser(tmp_path_factory)


@pytest.fixture
def url(site: ThreadingHTTPServer, monkeypatch: pytest.MonkeyPatch) -> str:
    return website.offer(monkeypatch, site, PAGES)


def test_frames_stand_where_their_iframe_does(browser: OneBrowser, url: str) -> None:
    tree, _ = do(browser, f"{url}/framed")
    lines = [line.split("] ", 1)[1] for line in tree.splitlines()]
    assert [line for line in lines if line.startswith("RootWebArea")] == [
        "RootWebArea 'Framed' focused: True",
        "RootWebArea 'Inner'",
        "RootWebArea 'Cross'",
    ]
    assert (
        lines.index("RootWebArea 'Inner'") < lines.index("StaticText 'inner text'") < lines.index("RootWebArea 'Cross'")
    )
    assert "Press there" in tree
    assert "Press the leaf" not in tree  # scrolled out of sight, in a frame and in the window


def test_boxes_of_frames_are_those_of_the_window(browser: OneBrowser, url: str) -> None:
    async def run() -> tuple[list[float], list[float]]:
        async with browser.page(f"{url}/framed") as page:
            seen = await observe(page, "released")
            iframe = await page.run(
                "() => { const box = document.querySelector('iframe').getBoundingClientRect(); return [box.x, box.y] }"
            )
            return seen.nodes[int(find(seen.tree, "inner text"))]["union_bound"], iframe

    (x, y, _, _), (left, top) = browser.wait(run())
    assert (x - left, y - top) == (5 + 3 + 8, 5 + 3 + 8)  # border, padding, margin of the inner body


def test_actions_reach_into_frames(browser: OneBrowser, url: str) -> None:
    tree, _ = do(browser, f"{url}/framed", click("Press there"))
    assert "button 'cross pressed'" in tree
    tree, _ = do(browser, f"{url}/framed", write("Search there", "new words"))
    assert "Results for new words" in tree and "heading 'Outside'" in tree
    scroll = lambda tree: Scroll(int(find(tree, "RootWebArea 'Inner'")), "down")  # noqa: E731
    tree, notes = do(browser, f"{url}/framed", scroll, scroll, click("Press the leaf"))
    assert "leaf pressed" in tree and notes == ""
    tree, _ = do(browser, f"{url}/framed", Scroll(None, "down"), click("Press the leaf"))
    assert "leaf pressed" in tree


def test_a_page_in_a_frame_does_not_hear_a_press_that_would_miss(browser: OneBrowser, url: str) -> None:
    """Its own listeners are there first."""

    async def run() -> tuple[str, str]:
        async with browser.page(f"{url}/foreign") as page:
            seen = await observe(page, "released")
            with contextlib.suppress(ActionError):
                await act(page, click("button 'Flee'")(seen.tree), seen, url)
            return await page.run("() => document.title", frame=list(page.frames)[1])

    assert browser.wait(run()) in ("Flees", "Flees heard it")


def test_workers_of_pages_and_frames_do_not_wait_for_us(browser: OneBrowser, url: str) -> None:
    async def run() -> set[str]:
        async with browser.page(f"{url}/busy") as page:
            for _ in range(100):
                said = await page.run("() => said.textContent")
                if said.count(".") >= 6:
                    break
                await asyncio.sleep(0.1)
            return set(said.strip(" .").split(". "))

    assert browser.wait(run()) == {
        "worker", "worker in it", "worker of a frame", "shared worker", "service worker", "worklet"
    }  # fmt: skip


def test_open_shadow_roots_are_part_of_the_page(browser: OneBrowser, url: str) -> None:
    tree, notes = do(browser, f"{url}/shadow", click("Press deep"))
    assert "button 'deep pressed'" in tree and notes == ""
    tree, notes = do(browser, f"{url}/shadow", write("Deep search", "deep words"))
    assert "deep words" in tree and notes == ""
    tree, _ = do(browser, f"{url}/shadow", click("Deep link"))
    assert "heading 'Second page'" in tree


def test_frames_that_are_drawn_larger(browser: OneBrowser, url: str) -> None:
    """By a transform, and in it by a zoom: a number's click and a point's description both find what is there."""
    tree, _ = do(browser, f"{url}/scaled", click("'Press'"))
    assert "button 'pressed'" in tree
    corner = 1.5 * (4 + 8 + (30 + 2) * 1.25)
    middle = Point(corner + 1.5 * 1.25 * (8 + 90 + 20), corner + 1.5 * 1.25 * (40 + 10))
    [(seen, said)] = points.do(browser, f"{url}/scaled", ClickAt(middle))
    assert "button 'pressed'" in seen.tree and said == 'Clicked <button> "Press".'


def test_frames_that_go_away_are_forgotten(browser: OneBrowser, url: str) -> None:
    async def run() -> tuple[int, int]:
        async with browser.page(f"{url}/framed") as page:
            before = len(list(page.frames))
            await page.run("() => document.querySelector('iframe').remove()")
            between = len(list(page.frames))
            await page.goto(f"{url}/second")
            await settle(page)
            return before - between, len(list(page.frames))

    assert browser.wait(run()) == (2, 1)


@pytest.mark.slow
def test_points_in_frames_and_shadow_roots(browser: OneBrowser, url: str) -> None:
    steps = (
        lambda seen: ScrollAt(0, 250, points.at(seen, "inner text")),
        points.click("Press there"),
        points.click("Search there"),
        Write("words", enter=True),
    )
    scrolled, pressed, _, found = points.do(browser, f"{url}/framed", *steps)
    assert "Press the leaf" in scrolled[0].tree and scrolled[1] == ""
    assert "cross pressed" in pressed[0].tree and pressed[1] == 'Clicked <button> "Press there".'
    assert "Results for words" in found[0].tree
    [(seen, said)] = points.do(browser, f"{url}/shadow", points.click("Press deep"))
    assert "deep pressed" in seen.tree and said == 'Clicked <button> "Press deep".'
