"""Set-of-marks as WebVoyager's agents know it: which elements, which numbers, which words, drawn on the image."""

import base64
import io
from http.server import ThreadingHTTPServer
from typing import Any

import pytest
from PIL import Image, ImageDraw

from data.actions.action import Click, Type
from data.trajectory import read_trajectory
from environments.browser.acting.actions import act
from environments.browser.observation.frame_views import FrameView
from environments.browser.observation.marks import Found, draw, number
from environments.browser.observation.number_places import NumberPlaces
from environments.browser.observation.observe import observe
from environments.browser.observation.projection import Projection
from environments.browser.page.frames import Frame
from environments.environment import Observation
from tests.collection.collector import Collector, task
from tests.environments import website
from tests.environments.conftest import OneBrowser

PAGE = """<title>Marks</title><h1>Heading</h1>
<a href="/second">Plain link</a>
<button aria-label="Close"><span>x</span></button>
<input placeholder="Search"><input type="checkbox"><textarea>words</textarea>
<div style="cursor:pointer" onclick="note.textContent = 'hand pressed'">Hand here</div>
<ul><li>Item <a href="/">inner</a></li><li>Leaf</li></ul>
<div style="position:relative"><button>Hidden</button>
<div style="position:absolute;inset:0;background:#eee">cover</div></div>
<p id="note">nothing</p><x-box></x-box>
<iframe src="http://other.localhost:PORT/framed" height="60"></iframe>
<p style="margin-top:900px"><a href="/">Far below</a></p>
<script>document.querySelector("x-box").attachShadow({mode: "open"}).innerHTML = "<button>Shadowed</button>"</script>"""


@pytest.fixture
def url(site: ThreadingHTTPServer, monkeypatch: pytest.MonkeyPatch) -> str:
    framed = "<form action='/found'><input name=q aria-label='Inside'></form>"
    editor = f"""<title>Editor</title><h1>Notes</h1><div style="height:200px; overflow:auto"><div contenteditable
        aria-label="Notes" oninput="document.title = 'written'">{"<p>one <a href='/'>line</a></p>" * 40}</div></div>"""
    return website.offer(monkeypatch, site, {"/marks": PAGE, "/framed": framed, "/editor": editor})


def look(browser: OneBrowser, url: str, *actions: Any) -> Observation:
    async def run() -> Observation:
        async with browser.page(url) as page:
            for action in actions:
                await act(page, action, await observe(page, "released", "marks"), url)
            return await observe(page, "released", "marks", fix_box_color=True)

    return browser.wait(run())


def test_elements_are_numbered_and_described_as_webvoyager_does(browser: OneBrowser, url: str) -> None:
    seen = look(browser, f"{url}/marks")
    assert seen.tree.split("\t") == [
        '[0]: "Plain link";',
        '[1]: <button> "x", "Close";',
        '[2]: <input> "";',
        '[4]: <textarea> "words";',
        '[5]: "Hand here";',
        '[6]: "inner";',
        '[7]: "Leaf";',
        '[8]: <button> "Shadowed";',
        '[9]: <input> "Inside";',
    ]
    assert len(seen.nodes) == 10  # the checkbox has a number and no words


def test_marks_are_drawn_on_the_image_and_not_into_the_page(browser: OneBrowser, url: str) -> None:
    seen = look(browser, f"{url}/marks")
    image = Image.open(io.BytesIO(seen.screenshot_png)).convert("RGB")
    x, y, _width, _ = seen.nodes[0]["union_bound"]
    assert image.size == (1024, 768)
    assert image.getpixel((round(x) + 1, round(y))) == (0, 0, 0)
    assert image.getpixel((round(x + 5), round(y) - 16)) == (0, 0, 0)  # behind the number, above the box

    async def run() -> int:
        async with browser.page(f"{url}/marks") as page:
            await observe(page, "released", "marks")
            return await page.run("() => document.querySelectorAll('*').length")

    assert browser.wait(run()) == PAGE.count("<") - PAGE.count("</") + 3 - 1  # html, head, body; not the shadow's


def test_marked_elements_are_acted_on(browser: OneBrowser, url: str) -> None:
    assert look(browser, f"{url}/marks", Click(0)).url.endswith("/second")
    assert "Results for deep" in _text(browser, f"{url}/marks", Type(9, "deep"))
    assert "hand pressed" in _text(browser, f"{url}/marks", Click(5))


def _text(browser: OneBrowser, url: str, action: Any) -> str:
    async def run() -> str:
        async with browser.page(url) as page:
            await act(page, action, await observe(page, "released", "marks"), url)
            return (await observe(page, "released")).tree

    return browser.wait(run())


def test_an_editor_is_one_mark_as_large_as_it_is_seen(browser: OneBrowser, url: str) -> None:
    seen = look(browser, f"{url}/editor")
    assert seen.tree == '[0]: <div contenteditable> "Notes";' and len(seen.nodes) == 1
    assert seen.nodes[0]["union_bound"][3] <= 200
    tree = _text(browser, f"{url}/editor", Type(0, "changed"))
    assert "RootWebArea 'written'" in tree and "changed" in tree and "one" not in tree


def test_numbers_hide_no_text_of_a_list() -> None:
    """Neither in their own lines nor in those above, and no other number."""
    image = Image.new("RGB", (200, 220), "white")
    canvas = ImageDraw.Draw(image)
    tops = range(40, 180, 20)
    for top in tops:
        canvas.text((14, top + 4), "Some words", "black")
    nodes = {label: {"boxes": [[10, top, 150, top + 20]]} for label, top in enumerate(tops)}
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    drawn = Image.open(io.BytesIO(base64.b64decode(draw(base64.b64encode(buffer.getvalue()).decode(), nodes, 200))))
    for label, top in enumerate(tops):
        words, end = (14, top + 3, 100, top + 18), (100, top + 3, 180, top + 18)
        assert drawn.crop(words).tobytes() == image.crop(words).tobytes()
        has_number = len(drawn.crop(end).getcolors() or []) > 2
        assert has_number == (label > 0)  # above the first there is nothing to hide


def test_numbers_hide_no_other_number() -> None:
    image = Image.new("RGB", (200, 200), "white")
    boxes = [(20, 60, 150, 81), (128, 81, 150, 102), (20, 81, 127, 102), (128, 60, 150, 80)]
    places = NumberPlaces(image, boxes)
    taken = [places.take(box, 20, 18) for box in boxes]
    for index, (x, y) in enumerate(taken):
        assert all(abs(x - left) >= 20 or abs(y - top) >= 18 for left, top in taken[index + 1 :])


def test_a_trajectory_of_marks(collector: Collector, site: ThreadingHTTPServer, url: str) -> None:
    tasks = [task(1, f"{url}/marks", "Click [0] | ANSWER; done")]
    flags = {"observation": "marks", "restart_action": "Google"}
    done = collector.run(tasks, api_base=f"{url}/v1", api_model="some-model", **flags)
    assert done.returncode == 0, done.stderr
    trajectory = read_trajectory(collector.results / "taskT--1")
    assert trajectory.answer == "done" and trajectory.provenance["observation"] == "marks"
    assert trajectory.trees[0].startswith('[0]: "Plain link";')
    system, first = site.requests[0]["messages"][:2]
    assert "- Google: go to the Google search page" in system["content"] and "- Restart" not in system["content"]
    assert "attached screenshot" in first["content"][0]["text"]


def test_boxes_of_a_frame_end_where_it_does() -> None:
    marks = [{"tag": "a", "type": "", "text": name, "label": "", "boxes": [box]} for name, box in
             [("in", [0, 0, 50, 20]), ("half", [0, 90, 50, 110]), ("out", [0, 150, 50, 170])]]  # fmt: skip
    moved = Projection((1, 0, 100, 0, 1, 200, 0, 0, 1))
    view = FrameView(Frame("f", "main", "s"), 5, moved, (0, 0, 300, 400), (100, 200, 300, 100))
    text, nodes = number([Found(view, marks)])
    assert [node["boxes"][0] for node in nodes.values()] == [[100, 200, 150, 220], [100, 290, 150, 300]]
    assert text == '[0]: "in";\t[1]: "half";' and nodes[1]["frameId"] == "f"


def test_colours_are_the_same_every_time() -> None:
    buffer = io.BytesIO()
    Image.new("RGB", (200, 100), "white").save(buffer, "PNG")
    blank = base64.b64encode(buffer.getvalue()).decode()
    nodes = {label: {"boxes": [[20 + 60 * label, 40, 60 + 60 * label, 80]]} for label in range(2)}
    assert draw(blank, nodes, 200) == draw(blank, nodes, 200) != draw(blank, nodes, 200, fixed_color=True)
