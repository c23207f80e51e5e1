"""An action hits what was chosen or does nothing: clipped, covered, moving and nested elements, focus thieves."""

import asyncio
import contextlib
from http.server import ThreadingHTTPServer
from typing import Any

import pytest

from data.actions.action import ActionError, Drag
from data.actions.point_action import Write
from environments.browser.acting.actions import act
from environments.browser.acting.aim import aim, disarm, guard_others, press
from environments.browser.acting.keyboard import keystrokes
from environments.browser.observation.observe import observe
from tests.environments import points, website
from tests.environments.conftest import OneBrowser
from tests.environments.steps import click, do, write
from tests.environments.website import find

# What is pressed, typed into or changed says so in the title, from all frames of the page.
TOLD = """<style>body { margin: 8px } button, a { display: block; height: 30px }</style>
    <script>for (const kind of ["mousedown", "click", "input", "change"]) addEventListener(kind, (event) => {
        const it = event.composedPath()[0].closest?.("[id]") ?? event.target;
        top.document.title += ` ${kind} ${it.id}`;
    }, true);</script><title>told:</title>"""
ROWS = "".join(f"<button id=row{n}>Row {n}</button>" for n in range(9))
BELOW = "<button id=all style='height:300px; width:100%'>Delete all</button>"
PAGES = {
    "/clipped": f"""<div style="height:70px; overflow:auto"><div style="height:200px; overflow:auto">
        <div style="position:sticky; top:0; background:#fff; height:40px">Head</div>{ROWS}</div></div>{BELOW}""",
    "/turned": f"""<div style="height:70px; width:300px; overflow:auto; transform:rotate(8deg) scale(.8)">{ROWS}</div>
        {BELOW}""",
    "/sideways": f"""<div style="width:200px; overflow:auto"><div style="width:900px; display:flex">
        {ROWS.replace("<button", "<button style='width:90px; flex:none'")}</div></div>
        <button id=all style="position:absolute; left:210px; top:0; width:600px; height:60px">Delete all</button>""",
    "/framed-row": f"""<div style="height:90px; overflow:auto"><p style="height:60px"></p><iframe src="/inner-row"
        style="width:300px; height:200px"></iframe></div>{BELOW}""",
    "/crossed": """<style>iframe { position:absolute; border:0 }</style>
        <iframe srcdoc="<p>Strip" style="left:0; top:150px; width:300px; height:20px; transform:rotate(45deg)"></iframe>
        <iframe src="/inner-row" style="left:180px; top:40px; width:120px; height:80px"></iframe>""",
    "/leaning": """<div style="perspective:260px; margin:40px"><iframe src="/dot" style="width:300px;
        height:120px; transform:rotateY(50deg); transform-origin:left"></iframe></div>""",
    "/dot": """<button id=all style="position:absolute; inset:0; height:100%; width:100%">All</button><button id=row5
        aria-label=Dot style="position:absolute; left:150px; top:50px; width:14px; height:14px; padding:0"></button>""",
    "/inner-row": f"<div style='height:100px; overflow:auto'>{ROWS}</div>",
    "/bar": f"""<p style="height:550px"></p>{ROWS}<p style="height:900px"></p>
        <button id=all style="position:fixed; left:0; bottom:0; height:90px; width:100%">Accept all</button>""",
    "/cut": f"<div style='height:0; overflow:clip'><button id=row5>Row 5</button></div>{BELOW}",
    "/icon": """<style>button::before { content: "* " }</style><button id=row5>Row 5</button>""",
    "/late": """<button id=row5>Row 5</button>
        <button id=all style="display:none; position:fixed; inset:0; height:100%; width:100%">Delete all</button>""",
    "/late-inside": """<a id=row5 href="#open" style="height:100px; width:300px">Row 5
        <button id=all style="display:none; height:60px; width:280px; margin:-10px auto">Delete all</button></a>""",
    "/moves": """<button id=row5 style="position:absolute; left:0">Row 5</button><button id=all
        style="position:absolute; left:0; top:60px; width:900px">Delete all</button><script>let n = 0;
        setInterval(() => { row5.style.top = (n++ % 2) * 52 + 8 + 'px'; all.style.top = (n % 2) * 52 + 8 + 'px' }, 3)
        </script>""",
    "/no-events-over": """<div style="position:relative"><input id=all aria-label=All style="width:200px; height:80px">
        <button id=row5 style="pointer-events:none; position:absolute; left:20px; top:20px">Row 5</button></div>""",
    "/no-events": """<div id=all onclick="1" style="height:200px"><button id=row5 style="pointer-events:none">Row 5
        </button></div>""",
    "/nested": """<a id=row5 href="#open" style="height:100px; width:300px; text-align:center">Row 5
        <button id=all style="height:60px; width:240px; margin:auto">Delete all</button></a>""",
    "/nested-alone": """<a id=row5 href="#open" style="height:100px; width:300px; position:relative">Row 5
        <button id=all style="position:absolute; right:0; top:0; width:90px; height:100px">Delete all</button></a>
        <div style="position:absolute; left:0; top:0; width:218px; height:150px; background:tan"></div>""",
    "/inside": """<a id=all href="#all" style="height:100px; width:300px">Read all <button id=row5>Row 5</button></a>
        <script>row5.addEventListener("mousedown", () => { row5.style.marginTop = "60px" })</script>""",
    "/label": """<style>label { display:inline-block } input { position:absolute; opacity:0; width:1px }</style>
        <label id=row5 style="width:300px; text-align:center">Row 5 <a id=all href="#terms" style="height:20px">Delete
        all</a><input type=checkbox id=agree></label>""",
    "/above-closed": """<button id=row5>Row 5</button><x-cover style="position:fixed; inset:0"></x-cover><script>
        customElements.define("x-cover", class extends HTMLElement { constructor() { super();
        this.attachShadow({mode: "closed"}).innerHTML = "<button style='height:99%; width:99%'>Delete all</button>" } })
        </script>""",
    "/thieves": """<input id=to aria-label="To" onfocus="from.focus()"><input id=from aria-label="From">
        <input id=late aria-label="Late" oninput="if (value.length > 2) from.focus()">
        <input id=slow aria-label="Slow" oninput="setTimeout(() => from.focus(), 200)">
        <p onmousedown="event.preventDefault()"><input id=stays aria-label="Stays"></p>
        <input id=code maxlength=1 aria-label="Code" oninput="next.focus()"><input id=next maxlength=1>
        <span id=opens role=button tabindex=0 onclick="brought.hidden = false; brought.focus()">Find</span>
        <input id=brought hidden>""",
    "/closed": """<my-card></my-card><script>
        customElements.define("my-card", class extends HTMLElement { constructor() { super();
        this.attachShadow({mode: "closed"}).innerHTML = "<section><inner-card></inner-card></section>" } });
        customElements.define("inner-card", class extends HTMLElement { constructor() {
        super(); const root = this.attachShadow({mode: "closed"});
        root.innerHTML = `<input aria-label="Coupon"><button>Upgrade</button>`;
        root.querySelector("input").oninput = (event) => document.title = "coupon " + event.target.value;
        root.querySelector("button").onclick = () => document.title = "upgraded" } });</script>""",
    "/map": """<img src="data:image/gif;base64,R0lGODlhAQABAAAAACw=" usemap="#m" width=400 height=200><map name=m>
        <area id=south shape=poly coords="380,0,400,0,400,20" href="#south" alt="South">
        <area id=west shape=rect coords="0,0,200,200" href="#west" alt="West">
        <area id=east shape=circle coords="300,100,80" href="#east" alt="East"></map>""",
    "/turned-frame": """<div style="position:absolute; left:200px; top:80px; transform:rotate(20deg) scale(.6)"><iframe
        src="/inner-turned" style="width:500px; height:300px; border:5px solid"></iframe></div>""",
    "/inner-turned": f"""<iframe src="/inner-row" style="width:300px; height:150px; transform:rotate(-30deg);
        margin:40px"></iframe>{BELOW}""",
    "/again": """<ul></ul><script>
        const draw = (names) => document.querySelector("ul").innerHTML = names.map((name) =>
            `<li><b>${name}</b> <span>in stock</span> <button id=${name}>Add</button></li>`).join("");
        draw(["Apple", "Pear", "Plum"]);
        const rows = (names) => names.forEach((name, index) => { const row = document.querySelectorAll("li")[index];
            row.querySelector("b").textContent = name; row.querySelector("button").id = name });
        const names = ["Plum", "Apple", "Pear"];
        if (location.search === "?late") addEventListener("pointermove", () => rows(names), true);
        if (location.search === "?early") setTimeout(() => rows(names), 1500);
        if (location.search === "?hover") addEventListener("pointermove", () =>
            document.querySelectorAll("li").forEach((row) => row.append("more")), { once: true });
        </script>""",
    "/counts": """<button id=row5>Cart (3)</button><button id=row6>Order 7004</button><button>Order 7017</button>
        <script>setTimeout(() => { row5.textContent = "Cart (4)"; row6.textContent = "Order 7010" }, 1500)</script>""",
    "/over-ground": """<p id=row5 style="pointer-events:none; position:fixed; top:300px">Row 5</p>""",
    "/beside": "<iframe src='/inner-field'></iframe>",
    "/inner-field": "<input id=inner>",
    "/drag-behind": """<div id=card role=button style="height:40px; width:90px">Card</div><div id=box role=button
        style="height:40px; width:90px">Box</div><button id=all style="position:absolute; left:0; top:48px; width:99px;
        height:60px">Delete all</button>""",
}  # fmt: skip


@pytest.fixture
def url(site: ThreadingHTTPServer, monkeypatch: pytest.MonkeyPatch) -> str:
    return website.offer(monkeypatch, site, PAGES, before=TOLD)


def told(tree: str) -> str:
    """The title of the page."""
    return tree.split("RootWebArea '", 1)[1].split("'", 1)[0]


@pytest.mark.parametrize(
    "path",
    [
        "/clipped",
        "/framed-row",
        "/icon",
        *(pytest.param(path, marks=pytest.mark.slow) for path in ("/turned", "/sideways", "/bar")),
    ],
)
def test_what_is_cut_off_is_brought_into_view(browser: OneBrowser, url: str, path: str) -> None:
    tree, notes = do(browser, url + path, click("Row 5"))
    assert told(tree) == "told: mousedown row5 click row5" and notes == ""


def test_what_is_under_another_stays_untouched(browser: OneBrowser, url: str) -> None:
    reasons = {
        "/cut": "can be brought into view",
        "/no-events": "takes no clicks",
        "/no-events-over": "takes no clicks",
        "/over-ground": "takes no clicks",
        "/above-closed": 'covers the element: <button> "Delete all"',
    }
    for path, reason in reasons.items():
        with pytest.raises(ActionError) as error:
            do(browser, url + path, click("Row 5"))
        assert reason in error.value.reason, path


@pytest.mark.slow
def test_what_moves_is_hit_or_nothing_is(browser: OneBrowser, url: str) -> None:
    for _ in range(4):
        with contextlib.suppress(ActionError):
            assert press_by_id(browser, f"{url}/moves", "row5") == "told: mousedown row5 click row5"


@pytest.mark.parametrize(
    ("path", "said", "reached"),
    [
        ("/late", 'covers the element: <button> "Delete all"', "told:"),
        ("/late-inside", "", "told: mousedown row5 click row5"),  # beside it
    ],
)
def test_what_comes_between_aim_and_press_is_not_pressed(
    browser: OneBrowser, url: str, path: str, said: str, reached: str
) -> None:
    async def run() -> tuple[str, str]:
        async with browser.page(f"{url}{path}") as page:
            await page.run("() => { elcano.marks[0] = document.getElementById('row5') }")
            aimed, reason = await aim(page, {"mark": 0}), ""
            await page.run("() => { document.getElementById('all').style.display = 'block' }")
            try:
                await press(page, {"mark": 0}, aimed)
            except ActionError as error:
                reason = error.reason
            return reason, await page.run("() => document.title")

    reason, title = browser.wait(run())
    assert (said in reason if said else not reason) and title == reached


def test_controls_in_what_was_chosen_are_not_pressed(browser: OneBrowser, url: str) -> None:
    tree, _ = do(browser, f"{url}/nested", click("link 'Row 5"))
    assert told(tree) == "told: mousedown row5 click row5"
    with pytest.raises(ActionError) as refused:  # nothing of the link shows but what it holds
        do(browser, f"{url}/nested-alone", click("link 'Row 5"))
    assert "covers the element" in refused.value.reason
    tree, _ = do(browser, f"{url}/inside", click("button 'Row 5"))
    assert told(tree) == "told: mousedown row5"  # and no click of the link, where the mouse came up
    tree, _ = do(browser, f"{url}/label", click("StaticText 'Row 5"))
    assert told(tree) == "told: mousedown row5 click row5 click agree input agree change agree"


def test_text_goes_into_what_was_chosen(browser: OneBrowser, url: str) -> None:
    page = f"{url}/thieves"
    with pytest.raises(ActionError) as error:
        do(browser, page, write("'To'", "Madrid"))
    assert 'Nothing was typed: <input> "From" has the focus' in error.value.reason
    tree, notes = do(browser, page, write("'Slow'", "Ma"))
    assert 'ENTER was not pressed: <input> "From" has the focus.' in notes and "input from" not in told(tree)


@pytest.mark.slow
def test_text_stops_where_the_focus_is_taken(browser: OneBrowser, url: str) -> None:
    page = f"{url}/thieves"
    with pytest.raises(ActionError) as error:
        do(browser, page, click("'From'"), write("'Stays'", "Madrid"))
    assert 'Nothing was typed: <input> "From" has the focus' in error.value.reason
    tree, notes = do(browser, page, write("'Late'", "Madrid"))
    assert 'Typing stopped: <input> "From" took the focus. The textbox reads "Mad" now.' in notes
    assert "input from" not in told(tree)


def test_other_frames_hear_no_key_however_long_the_text_takes(browser: OneBrowser, url: str) -> None:
    async def run() -> tuple[str, str]:
        async with browser.page(f"{url}/beside") as page:
            main, inner = list(page.frames)
            await page.run("() => document.querySelector('input').focus()", frame=inner)
            await guard_others(page, main, "keys")
            await asyncio.sleep(1)
            await page.send_all(keystrokes("x", lines=False))
            before = await page.run("() => document.title")
            await disarm(page)
            await page.send_all(keystrokes("x", lines=False))
            return before, await page.run("() => document.title")

    assert browser.wait(run()) == ("told:", "told: input inner")


@pytest.mark.slow
def test_text_follows_where_the_page_leads(browser: OneBrowser, url: str) -> None:
    """From one field of a code to the next, and from a button to the textbox that it brings."""
    tree, _ = do(browser, f"{url}/thieves", write("'Code'", "12"))
    assert "input code change code input next" in told(tree)
    tree, notes = do(browser, f"{url}/thieves", write("'Find'", "words"))
    assert "input brought" in told(tree) and "the textbox it stands for" in notes


@pytest.mark.parametrize(
    ("path", "pressed"), [("/again", "Pear"), ("/again?hover", "Pear"), ("/again?redrawn", "Pear"), ("/again?late", "")]
)
def test_one_of_several_alike_is_known_by_what_stands_beside_it(
    browser: OneBrowser, url: str, path: str, pressed: str
) -> None:
    """A list uses its rows again while the mouse comes; what is only added beside it changes nothing."""
    pear = click_second("button 'Add'")
    if pressed:
        assert f"click {pressed}" in told(do(browser, url + path, pear)[0])
        return
    with pytest.raises(ActionError) as error:
        do(browser, url + path, pear)
    assert 'reads "Apple in stock" by now' in error.value.reason


def test_what_is_drawn_anew_is_known_by_what_stood_beside_it(browser: OneBrowser, url: str) -> None:
    """And not by what its row read when it went away: its list had used it for something else."""

    async def run() -> str:
        async with browser.page(f"{url}/again") as page:
            await observe(page, "released")
            return await page.run("""() => {
                const [list, second] = [document.querySelector("ul"), document.querySelectorAll("button")[1]];
                for (const one of document.querySelectorAll("button")) one.id = "";
                const before = list.innerHTML;
                second.parentNode.querySelector("b").textContent = "Apple";
                list.innerHTML = before;
                return elcano.findAgain(second).parentNode.textContent; }""")

    assert browser.wait(run()) == "Pear in stock Add"


@pytest.mark.parametrize(("path", "name"), [("/again?early", "button 'Add'"), ("/counts", "button 'Order 7004'")])
def test_what_reads_otherwise_by_now_is_not_pressed(browser: OneBrowser, url: str, path: str, name: str) -> None:
    step = click_second(name) if "again" in path else click(name)
    with pytest.raises(ActionError) as error:
        do_later(browser, url + path, step)
    assert "by now; nothing was done" in error.value.reason


def test_a_count_that_went_on_does_not_matter(browser: OneBrowser, url: str) -> None:
    assert told(do_later(browser, f"{url}/counts", click("button 'Cart (3)'"))) == "told: mousedown row5 click row5"


def click_second(name: str) -> Any:
    """Click the second that reads so."""
    return lambda tree: click(name)(tree.replace(name, "", 1))


def do_later(browser: OneBrowser, url: str, step: Any) -> str:
    """The tree after an action that comes two seconds after what it was chosen from."""

    async def run() -> str:
        async with browser.page(url) as page:
            seen = await observe(page, "released")
            await asyncio.sleep(2)
            await act(page, step(seen.tree), seen, url)
            return (await observe(page, "released")).tree

    return browser.wait(run())


def test_closed_shadow_roots(browser: OneBrowser, url: str) -> None:
    tree, notes = do(browser, f"{url}/closed", write("Coupon", "SAVE10"))
    assert told(tree) == "coupon SAVE10" and notes == ""
    assert told(do(browser, f"{url}/closed", click("Upgrade"))[0]) == "upgraded"
    [(seen, said)] = points.do(browser, f"{url}/closed", lambda seen: Write("SAVE10", points.at(seen, "Coupon")))
    assert told(seen.tree) == "coupon SAVE10"
    assert said.startswith('Clicked <input type=text> "Coupon".') and 'reads "SAVE10" now' in said
    [(seen, said)] = points.do(browser, f"{url}/closed", points.click("Upgrade"))
    assert told(seen.tree) == "upgraded" and said == 'Clicked <button> "Upgrade".'


@pytest.mark.parametrize("name", ["east", *(pytest.param(name, marks=pytest.mark.slow) for name in ("west", "south"))])
def test_image_maps(browser: OneBrowser, url: str, name: str) -> None:
    assert press_by_id(browser, f"{url}/map", name) == f"told: mousedown {name} click {name}"


def test_frames_that_are_turned(browser: OneBrowser, url: str) -> None:
    """In each other, and a row in it that its list cuts off."""
    assert press_by_id(browser, f"{url}/turned-frame", "row5", depth=2) == "told: mousedown row5 click row5"


def press_by_id(browser: OneBrowser, url: str, name: str, depth: int = 0) -> str:
    """The title after a press on the element with this id, in the frame that lies so deep."""

    async def run() -> str:
        async with browser.page(url) as page:
            frame = list(page.frames)[depth]
            await page.run("(name) => { elcano.marks[0] = document.getElementById(name) }", name, frame=frame)
            node = {"mark": 0, "frameId": frame.id}
            await press(page, node, await aim(page, node))
            return await page.run("() => document.title")

    return browser.wait(run())


def test_both_ends_of_a_drag_lie_free(browser: OneBrowser, url: str) -> None:
    with pytest.raises(ActionError) as error:
        do(browser, f"{url}/drag-behind", lambda tree: Drag(int(find(tree, "Card")), int(find(tree, "Box"))))
    assert 'covers the element: <button> "Delete all"' in error.value.reason


def test_frames_in_perspective(browser: OneBrowser, url: str) -> None:
    tree, _ = do(browser, f"{url}/leaning", click("button 'Dot'"))
    assert told(tree) == "told: mousedown row5 click row5"


def test_a_point_is_in_the_frame_that_shows_there_and_not_in_one_whose_box_it_is_in(
    browser: OneBrowser, url: str
) -> None:
    [(seen, said)] = points.do(browser, f"{url}/crossed", points.click("Row 1"))
    assert said == 'Clicked <button> "Row 1".' and told(seen.tree) == "told: mousedown row1 click row1"


def test_text_at_a_point_goes_into_what_lies_there(browser: OneBrowser, url: str) -> None:
    [(seen, said)] = points.do(browser, f"{url}/thieves", lambda seen: Write("Madrid", points.at(seen, "'To'")))
    assert 'Nothing was typed: <input> "From" has the focus' in said and "input" not in told(seen.tree)
