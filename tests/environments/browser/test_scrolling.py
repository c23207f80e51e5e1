"""The window scrolls what a person would scroll, by layout; "not further" is true; the view is never left blank."""

import re
from http.server import ThreadingHTTPServer
from typing import Literal

import pytest

from environments.browser.acting.scrolling import scroll
from environments.browser.observation.observe import observe
from tests.environments import website
from tests.environments.conftest import OneBrowser
from tests.environments.website import find

LINES = "".join(f"<p style='margin:0;height:40px'>line {number}</p>" for number in range(40))
ITEMS = LINES.replace("line", "item")
LOCKED = "<style>html, body { margin: 0; height: 100%; overflow: hidden }</style>"
PANES = """<style>.pane { float: left; box-sizing: border-box; height: 100%; overflow-y: auto }</style>
    <nav class=pane style="width:20%"><p>menu</p></nav>"""

PAGES = {
    "/panel": f"{LOCKED}<title>Panel</title><div style='height:100%;overflow:auto'>{LINES}</div>",
    "/body": f"""<title>Body</title><style>html {{ overflow: hidden; height: 100% }}
        body {{ margin: 0; height: 100%; overflow-y: scroll }}</style>{LINES}""",
    "/carried": f"""<!doctype html><title>Carried</title><style>html {{ height: 100% }}
        body {{ margin: 0; height: 100%; overflow-y: scroll }}</style>{LINES}""",
    "/shadowed": f"""{LOCKED}<title>Shadowed</title><x-feed style="display:block;height:100%"></x-feed><script>
        document.querySelector("x-feed").attachShadow({{mode: "open"}}).innerHTML =
            `<section style="height:100%;overflow:auto"><slot></slot>{LINES}</section>`</script>""",
    "/framed": f"""{LOCKED}<title>Framed</title>
        <iframe src="http://other.localhost:PORT/panel" style="width:100%;height:100%;border:0"></iframe>""",
    "/panes": f"""{LOCKED}<title>Panes</title>{PANES}
        <main class=pane style="width:60%">{LINES}</main><aside class=pane style="width:20%">{ITEMS}</aside>""",
    "/halves": f"""{LOCKED}<title>Halves</title>{PANES.replace("<nav", "<nav hidden")}
        <main class=pane style="width:49%">{LINES}</main>
        <aside class=pane style="width:49%"><button>Focus here</button>{ITEMS}</aside>""",
    "/dialog": f"""<title>Dialog</title><body style="margin:0">{ITEMS}<div style="position:fixed; left:300px; top:200px;
        width:400px; height:300px; overflow:auto; background:#fff">{LINES}</div>""",
    "/small": f"""<title>Small</title><body style="margin:0">{LINES}
        <div style="position:absolute; top:10px; right:10px; height:100px; overflow:auto">{ITEMS}</div>""",
    "/chat": f"""{LOCKED}<title>Chat</title><div style="height:100%; overflow:auto; display:flex;
        flex-direction:column-reverse"><div>{LINES}</div></div>""",
    "/gap": """<title>Gap</title><h1>Begin</h1><div style="height:3000px"></div><button>At the end</button>""",
    "/tail": """<title>Tail</title><h1>Begin</h1><p style="margin-top:500px">last words</p>
        <div style="height:4000px"></div>""",
    "/scripted": f"""{LOCKED}<title>Scripted</title><div id=sheet>{LINES}</div><script>let y = 0;
        addEventListener("wheel", (event) => {{ y = Math.min(0, Math.max(-832, y - event.deltaY));
            sheet.style.transform = `translateY(${{y}}px)` }})</script>""",
    "/narrow": f"""{LOCKED}<title>Narrow</title><div id=sheet style="position:absolute; left:0; width:80px">
        {LINES}</div><script>addEventListener("wheel", (event) => {{ sheet.style.marginTop = "-400px" }})</script>""",
    "/pair": f"""<title>Pair</title><body style="margin:0"><div style="height:150px; overflow:auto">{LINES}</div>
        <div style="height:150px; overflow:auto">{ITEMS[:200]}</div>""",
    "/short": "<title>Short</title><p>all there is</p>",
    "/still": f"""<title>Still</title><body style="margin:0"><iframe src="/short" height="300"></iframe>{LINES}""",
}


@pytest.fixture
def url(site: ThreadingHTTPServer, monkeypatch: pytest.MonkeyPatch) -> str:
    return website.offer(monkeypatch, site, PAGES)


@pytest.mark.parametrize(
    "path", ["/panel", "/body", "/carried", "/shadowed", "/framed", "/panes", "/small", "/scripted"]
)
def test_the_window_scrolls_what_fills_it(browser: OneBrowser, url: str, path: str) -> None:
    assert _scroll(browser, url + path, "up") == [(False, "line 0")]
    seen = _scroll(browser, url + path, "down", "up", *["down"] * 6)
    assert [moved for moved, _ in seen[:3]] == [True, True, True]
    assert seen[0][1] not in ("line 0", "item 0") and seen[1][1] == "line 0"
    if path != "/dialog":  # where the wheel goes on with the page behind it
        assert seen[-1][0] is False


def test_a_list_that_begins_at_its_end_is_scrolled_up(browser: OneBrowser, url: str) -> None:
    seen = _scroll(browser, f"{url}/chat", "down", "up", "down", "down")
    assert [moved for moved, _ in seen] == [False, True, True, False] and seen[1][1] != seen[0][1] == seen[2][1]


def test_blank_space_is_passed_and_never_stopped_at(browser: OneBrowser, url: str) -> None:
    assert _scroll(browser, f"{url}/gap", "down", "up") == [(True, "At the end"), (True, "Begin")]
    assert _scroll(browser, f"{url}/tail", "down", "down") == [(True, "last words"), (False, "last words")]


def test_what_lies_beside_the_middle_is_seen_to_move(browser: OneBrowser, url: str) -> None:
    assert _scroll(browser, f"{url}/narrow", "down", "down") == [(True, "line 10"), (False, "line 10")]


def test_of_two_small_areas_one_that_has_not_ended_scrolls(browser: OneBrowser, url: str) -> None:
    moved = [moved for moved, _ in _scroll(browser, f"{url}/pair", *["down"] * 20)]
    assert moved == [True] * 16 + [False] * 4


def test_where_nothing_scrolls_it_is_said(browser: OneBrowser, url: str) -> None:
    assert not any(moved for moved, _ in _scroll(browser, f"{url}/short", "down", "up"))


def test_a_frame_with_nothing_to_scroll_scrolls_the_page_around_it(browser: OneBrowser, url: str) -> None:
    [(moved, first)] = _scroll(browser, f"{url}/still", "down", inside="all there is", first="line")
    assert moved and first != "line 0"


def _scroll(
    browser: OneBrowser,
    url: str,
    *directions: Literal["up", "down"],
    inside: str = "",
    first: str = "",
    before: str = "",
) -> list[tuple[bool, str]]:
    """Whether something moved by each of these, and the first text that then shows on the screen."""

    async def run() -> list[tuple[bool, str]]:
        async with browser.page(url) as page:
            found = []
            if before:
                await page.run(before)
            for direction in directions:
                seen = await observe(page, "correct")
                node = seen.nodes[int(find(seen.tree, inside))] if inside else None
                moved = await scroll(page, node, direction)
                seen = await observe(page, "correct")
                names = re.findall(r"(?:StaticText|button|heading) '(.*?)'", seen.tree)
                found.append((moved, next((name for name in names if first in name and name != "menu"), "")))
            return found

    return browser.wait(run())
