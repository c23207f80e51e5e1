"""What is on the screen is in the observation, at the place where it is seen: in turned frames, behind labels, in
pictures, in closed shadow roots, without a box of its own; and nothing of a page makes it slow or long."""

from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from typing import Any

import pytest

from data.actions.action import Click
from data.observation import Mode
from environments.browser.acting.actions import act
from environments.browser.observation.observe import observe
from environments.browser.observation.projection import Projection, center, holding
from environments.browser.observation.tree import MAX_TREE
from environments.browser.page.page import Page
from environments.browser.page.settle import settle
from environments.environment import Observation
from tests.environments import website
from tests.environments.conftest import OneBrowser
from tests.environments.steps import click, do, write

HIDDEN = "position:absolute; clip:rect(0 0 0 0); width:1px; height:1px; overflow:hidden"
PICTURE = "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' width='300' height='200'/>"
AREAS = """<area shape=rect coords="0,0,100,100" href="#north" alt="North">
    <area shape=circle coords="200,50,40" href="#east" alt="East">
    <area shape=poly coords="0,200,0,110,20,110,20,180,300,180,300,200" href="#south" alt="South">"""
CARD = """customElements.define("x-card", class extends HTMLElement { constructor() { super();
    this.attachShadow({mode: "closed"}).innerHTML = this.innerHTML || `<button onclick="document.title = 'bought'">Buy
    </button><input aria-label=Code oninput="document.title = this.value">`; } });"""
PAGES = {
    "/labels": f"""<title>Labels</title><style>label {{ display:inline-block; margin:10px; padding:10px }}</style>
        <label><input type=radio name=n style="display:none"> Two nights</label>
        <input type=radio name=n id=four hidden><label for=four>Four nights</label>
        <label><input type=checkbox style="{HIDDEN}"> Breakfast</label>
        <label><input type=checkbox style="position:absolute; left:-9999px"> Parking</label>
        <label><input type=checkbox style="appearance:none; width:0; height:0; margin:0"><b>Late arrival</b></label>
        <label><input type=checkbox style="opacity:0" checked> Garden</label>
        <label>Passport <input type=file style="display:none"></label>
        <label><input type=checkbox disabled style="visibility:hidden"> Pool</label>
        <input type=checkbox aria-label="Plain">""",
    "/pictures": f"""<title>Pictures</title><img src="{PICTURE}" usemap="#m" width=300 height=200 alt="Land"
        style="padding:7px; border:3px solid"><map name=m>{AREAS}</map>
        <div style="transform:scale(.5); transform-origin:0 0"><img src="{PICTURE}" usemap="#n" width=300 height=200
        style="border:10px solid"><map name=n>{AREAS.replace('alt="', 'alt="Half ')}</map></div>
        <img src="{PICTURE}" usemap="#o" width=300 height=200 style="position:absolute; left:500px; top:300px;
        transform:rotate(30deg)"><map name=o>{AREAS.replace('alt="', 'alt="Turned ')}</map>""",
    "/frames": """<title>Frames</title><body style="margin:0"><style>iframe { position:absolute; border:2px solid;
        width:200px; height:100px }</style>
        <iframe src="/one?half" style="left:10px; top:10px; transform:scale(.5)"></iframe>
        <iframe src="/one?turned" style="left:300px; top:80px; transform:rotate(50deg) skewX(10deg)"></iframe>
        <iframe src="/one?zoomed" style="left:10px; top:200px; zoom:1.5; padding:4px"></iframe>
        <iframe src="/around" style="left:600px; top:100px; width:300px; height:200px; transform:rotate(-20deg)">
        </iframe>
        <p style="perspective:400px"><iframe src="/one?deep" style="left:600px; top:400px; transform:rotateY(40deg)">
        </iframe></p>""",
    "/around": """<title>Around</title><iframe src="http://other.localhost:PORT/one?inner" style="margin:30px;
        width:200px; height:100px; zoom:1.2; transform:scale(.8)"></iframe>""",
    "/one": """<title>One</title><button style="position:absolute; left:90px; top:30px" onclick="
        top.postMessage(1, '*')">Press</button><script>document.querySelector('button').textContent += location.search
        </script>""",
    "/closed": f"""<title>Closed</title><x-card></x-card><x-card><p>outer</p><x-card></x-card></x-card>
        <script>{CARD}</script>""",
    "/boxless": """<title>Boxless</title><button style="display:contents">Contents</button>
        <a href="/second" style="display:block; height:0"><span style="float:left">Floating</span></a>
        <p style="width:230px; clear:both">Some words before <a href="/second">a link of several words</a> and after
        it.</p>
        <svg width=50 height=50><a href="/second" aria-label="Drawn"><circle r=20 cx=25 cy=25 /></a></svg>
        <style>.save::before { content: "Save" }</style><button class=save></button>""",
    "/parts": """<title>Parts</title><style>body { margin:0 } div, iframe { position:absolute }</style>
        <div style="left:10px; top:10px; width:60px; height:60px; overflow:hidden"><label style="display:block;
        margin-top:50px; width:200px; height:40px"><input type=checkbox hidden>Cut off</label></div>
        <button style="position:absolute; left:10px; top:100px; width:200px; height:40px">Covered</button>
        <div style="left:10px; top:90px; width:194px; height:60px; background:tan">Note</div>
        <div style="left:300px; top:10px; width:60px; height:90px; overflow:hidden">
        <iframe src="/wide" style="left:-40px; top:0; width:300px; height:80px; border:0"></iframe></div>
        <div style="left:500px; top:200px; transform:rotate(30deg)"><a href="/second" style="display:block; height:0;
        width:200px"><span style="float:left">Flat</span></a></div>
        <div style="left:300px; top:735px"><button style="height:80px">Below</button></div>""",
    "/wide": """<title>Wide</title><body style="margin:0"><button style="width:300px; height:60px">Wide</button>""",
    "/towns": """<title>Towns</title><select aria-label="Town"><option>Choose<optgroup label="All"></optgroup></select>
        <script>for (let n = 0; n < 99; n++) document.querySelector("optgroup").append(new Option(`town ${n}`))
        if (location.search) document.write("<p>" + "<i></i>".repeat(12000))</script>""",
    "/log": """<title>Log</title><h1>Log</h1><a href="/second">Go on</a><pre></pre><script>
        document.querySelector("pre").textContent =
            Array.from({length: 40000}, (_, line) => `line ${line} of the log`).join("\\n")</script>""",
    "/around_log": """<title>Around</title><iframe src="http://other.localhost:PORT/one"></iframe>
        <iframe src="http://other.localhost:PORT/log" style="width:900px; height:400px"></iframe>""",
    "/many": """<title>Many</title><script>document.write(Array.from({length: 5000}, (_, n) =>
        `<p>Row ${n} <a href="/second">link ${n}</a></p>`).join(""))</script><iframe src="/one"></iframe>""",
    "/framed": """<title>Framed</title><body style="margin:0"><div style="overflow:hidden; border:20px
        solid; width:200px; height:60px"><button style="display:block; height:50px; width:100px">First</button><button
        style="display:block; height:50px; width:100px">Second</button></div>""",
    "/title": """<h1>Hello</h1><button>Press</button><script>document.title = "words ".repeat(1e6)</script>""",
    "/names": """<title>Names</title><a href="/second" aria-label="x">A</a><button></button><input><script>
        for (const tag of ["a", "button"]) document.querySelector(tag).ariaLabel = tag.repeat(1e6);
        document.querySelector("input").value = "some words ".repeat(1e4)</script>""",
    "/talk": """<title>Talk</title><script>for (let n = 0; n < 300; n++) document.write(`<p>${"word ".repeat(700)}</p>`)
        document.body.style = "font-size:1px; line-height:1px; width:9000px"</script>""",
}  # fmt: skip


@pytest.fixture
def url(site: ThreadingHTTPServer, monkeypatch: pytest.MonkeyPatch) -> str:
    return website.offer(monkeypatch, site, PAGES)


def look(browser: OneBrowser, url: str, mode: Mode = "tree") -> Observation:
    async def run() -> Observation:
        async with browser.page(url) as page:
            return await observe(page, "released", mode)

    return browser.wait(run())


def hits(browser: OneBrowser, url: str, mode: Mode) -> Iterator[tuple[str, str]]:
    """What each numbered element is called, and what a press on the center of its box reaches."""

    async def run() -> list[tuple[str, str]]:
        async with browser.page(url) as page:
            seen = await observe(page, "released", mode)
            return [(node["name"]["value"], await pressed(page, node)) for node in seen.nodes.values()]

    yield from browser.wait(run())


async def pressed(page: Page, node: dict[str, Any]) -> str:
    """Words of the innermost element at the center of the node's box, through frames."""
    left, top, width, height = node["union_bound"]
    at = {"x": round(left + width / 2), "y": round(top + height / 2), "includeUserAgentShadowDOM": False}
    found = await page.send("DOM.getNodeForLocation", at)
    frame = page.frames.get(found["frameId"]) or page.frames.main
    words = """function () {
        const at = this.closest ? this : this.parentElement;
        return at?.alt || at?.textContent.trim() || "" }"""
    return await page.run_on({"backendDOMNodeId": found["backendNodeId"], "frameId": frame.id}, words)


@pytest.mark.parametrize("mode", ["tree", "marks"])
def test_frames_under_any_transform(browser: OneBrowser, url: str, mode: Mode) -> None:
    buttons = {name: found for name, found in hits(browser, f"{url}/frames", mode) if name.startswith("Press?")}
    assert sorted(buttons) == [f"Press?{kind}" for kind in ("deep", "half", "inner", "turned", "zoomed")]
    assert all(name == found for name, found in buttons.items())


@pytest.mark.parametrize("mode", ["tree", "marks"])
def test_a_box_is_the_part_that_is_seen(browser: OneBrowser, url: str, mode: Mode) -> None:
    """Of what is cut off, in frames too, covered but for an edge, without a height of its own, below the window."""
    found = dict(hits(browser, f"{url}/parts", mode))
    assert {name: found.get(name) for name in ("Cut off", "Covered", "Wide", "Flat", "Below")} == {
        name: name for name in ("Cut off", "Covered", "Wide", "Flat", "Below")
    }


@pytest.mark.parametrize("size", ["", "?huge"])
def test_a_long_menu_says_how_much_of_it_is_not_listed(browser: OneBrowser, url: str, size: str) -> None:
    tree = look(browser, f"{url}/towns{size}").tree
    assert "option 'town 28'" in tree and "option 'town 29'" not in tree and "more options: 70" in tree
    assert "option 'town 90'" not in tree
    tree, _ = do(browser, f"{url}/towns{size}", write("combobox 'Town'", "town 90"))
    assert "option 'town 90' focused: True selected: True" in tree or "option 'town 90' selected: True" in tree


def test_a_menu_among_marks_says_what_it_holds(browser: OneBrowser, url: str) -> None:
    async def run() -> str:
        async with browser.page(f"{url}/towns") as page:
            seen = await observe(page, "released", "marks")
            return await act(page, Click(next(iter(seen.nodes))), seen, url)

    said = browser.wait(run())
    assert said.startswith("This is a menu; type one of its choices: Choose; town 0; ") and said.endswith(
        "and 70 more."
    )


def test_a_projection_and_its_way_back() -> None:
    drawn = Projection.of(200, 100, [10, 20, 150, 40, 160, 90, 5, 120])
    assert drawn.point(0, 0) == pytest.approx((10, 20)) and drawn.point(200, 100) == pytest.approx((160, 90))
    back = drawn.inverse()
    assert back is not None and back.point(*drawn.point(70, 30)) == pytest.approx((70, 30))
    moved = Projection.of(10, 10, [5, 5, 15, 5, 15, 15, 5, 15]).after(drawn)
    assert moved.point(200, 0) == pytest.approx((155, 45))
    assert Projection.of(10, 10, [0, 0, 10, 0, 10, 0, 0, 0]).inverse() is None


def test_the_box_of_a_turned_strip_has_its_middle_on_it() -> None:
    upright = [(0.0, 0.0), (10.0, 0.0), (10.0, 4.0), (0.0, 4.0)]
    assert holding(upright) == (0, 0, 10, 4)
    x, y = center(holding([(0.0, 0.0), (40.0, 0.0), (40.0, 2.0)]))  # below its long side
    assert 0 < y < x / 20


@pytest.mark.parametrize("mode", ["tree", "marks"])
def test_what_cuts_off_shows_nothing_over_its_border(browser: OneBrowser, url: str, mode: Mode) -> None:
    nodes = look(browser, f"{url}/framed", mode).nodes.values()
    boxes = {node["name"]["value"]: [round(side) for side in node["union_bound"]] for node in nodes}
    assert boxes["Second"] == [20, 70, 100, 10]


def test_controls_behind_labels_stand_where_these_are(browser: OneBrowser, url: str) -> None:
    tree, _ = do(browser, f"{url}/labels")
    lines = [line.split("] ", 1)[1] for line in tree.splitlines()[1:]]
    assert [line for line in lines if not line.startswith("StaticText")] == [
        "radio 'Two nights' checked: false",
        "radio 'Four nights' checked: false",
        *(f"checkbox '{name}' checked: false" for name in ("Breakfast", "Parking", "Late arrival")),
        "checkbox 'Garden' checked: true",
        "button 'Passport: No file chosen'",
        "checkbox 'Pool' disabled: True checked: false",
        "checkbox 'Plain' checked: false",
    ]
    chosen, _ = do(browser, f"{url}/labels", *map(click, ("Four nights", "Parking", "Late arrival", "Garden")))
    for line in ("radio 'Four nights'", "checkbox 'Parking'", "checkbox 'Late arrival'"):
        assert f"{line} " in chosen and f"{line} checked: false" not in chosen
    assert "checkbox 'Garden' focused: True checked: false" in chosen or "checkbox 'Garden' checked: false" in chosen
    for name, found in hits(browser, f"{url}/labels", "tree"):
        assert name in ("Labels", "Plain", "Garden") or found in name, name
    marks = look(browser, f"{url}/labels", "marks")
    assert '<input> "Four nights"' in marks.tree and '<input> "Late arrival"' in marks.tree


@pytest.mark.parametrize("mode", ["tree", "marks"])
def test_areas_of_pictures(browser: OneBrowser, url: str, mode: Mode) -> None:
    found = dict(hits(browser, f"{url}/pictures", mode))
    for kind in ("", "Half ", "Turned "):
        for area in ("North", "East", "South"):
            assert found[kind + area] == kind + area
    assert do(browser, f"{url}/pictures", click("Half East"))[1] == ""


def test_closed_shadow_roots_are_part_of_the_page(browser: OneBrowser, url: str) -> None:
    marks = look(browser, f"{url}/closed", "marks")
    assert marks.tree.count("Buy") == 2 and marks.tree.count('<input> "Code"') == 2
    tree, _ = do(browser, f"{url}/closed", click("Buy"))
    assert "RootWebArea 'bought'" in tree
    tree, _ = do(browser, f"{url}/closed", write("Code", "SAVE10"))
    assert "RootWebArea 'SAVE10'" in tree


def test_elements_without_a_box_of_their_own(browser: OneBrowser, url: str) -> None:
    found = dict(hits(browser, f"{url}/boxless", "tree"))
    assert found["Contents"] == "Contents" and found["Floating"] == "Floating"
    assert found["a link of several words"] == "a link of several words"
    assert "Drawn" in found and "Save" in found


def test_large_pages_are_read_as_far_as_they_are_shown(browser: OneBrowser, url: str) -> None:
    log = look(browser, f"{url}/log")
    assert "link 'Go on'" in log.tree and "line 20 of the log" in log.tree and "line 200 of" not in log.tree
    assert "characters cut ...]" in log.tree and len(log.tree) < 5000
    many = look(browser, f"{url}/many")
    assert many.tree.splitlines()[1:3] == ["\t[2] StaticText 'Row 0 '", "\t[3] link 'link 0'"]
    tree, notes = do(browser, f"{url}/many", click("link 3"))
    assert "heading 'Second page'" in tree and notes == ""


def test_large_pages_are_read_after_small_ones(browser: OneBrowser, url: str) -> None:
    """In the same tab, whose pages one process draws; also in frames with a process of their own."""

    async def run() -> list[str]:
        async with browser.page(f"{url}/one") as page:
            trees = []
            for path in ("/one", "/log", "/around", "/around_log", "/many", "/around_log", "/one", "/log"):
                await page.goto(f"{url}{path}")
                await settle(page)
                trees.append((await observe(page, "released")).tree)
            return [*trees, str(len(page.context.pages))]

    trees = browser.wait(run())
    assert trees.pop() == "1"
    for tree, words in zip(
        trees, ("Press", "line 20", "Press", "line 3", "link 3", "line 3", "Press", "line 20"), strict=True
    ):
        assert words in tree


def test_every_text_has_a_limit(browser: OneBrowser, url: str) -> None:
    titled = look(browser, f"{url}/title")
    assert len(titled.tree) < 5000 and "button 'Press'" in titled.tree and "characters cut" in titled.tree
    for mode in ("tree", "marks"):
        assert len(look(browser, f"{url}/names", mode).tree) < 15_000
    assert len(look(browser, f"{url}/talk").tree) < MAX_TREE + 20_000
    assert len(look(browser, f"{url}/second#{'x' * 100_000}").url) < 5000
