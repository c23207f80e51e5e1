"""What the table of MiniWoB++'s tasks says can be done at points is done: by drags, keys and clicks, on the real pages.

What a person sees is read from the page by scripts; every action is one that a model can say.
"""

import re
from collections.abc import Awaitable, Callable, Iterator
from importlib.util import find_spec

import pytest

from common.processes import served
from data.actions.point_action import AnyAction, ClickAt, DragAt, Press
from data.actions.screen import Point
from environments.browser.acting.actions import act
from environments.browser.observation.observe import observe
from environments.browser.page.page import Page
from environments.miniwob.app import HOST
from environments.miniwob.needs import lacks
from tests.environments.conftest import OneBrowser
from tests.environments.miniwob.test_miniwob import page_of

pytestmark = pytest.mark.skipif(not find_spec("miniwob"), reason="needs the package miniwob")

Solve = Callable[["Hand"], Awaitable[None]]


class Hand:
    """Acts on a page at points."""

    def __init__(self, page: Page, port: int):
        self.page, self._port = page, port

    async def do(self, *actions: AnyAction) -> None:
        for action in actions:
            await act(self.page, action, await observe(self.page, "released"), "about:blank")

    async def box(self, selector: str, number: int = 0) -> list[float]:
        """x, y, width, height of what is drawn."""
        return (await self.boxes(selector))[number]

    async def boxes(self, selector: str) -> list[list[float]]:
        read = """(s) => [...document.querySelectorAll(s)].map((element) => {
            const box = element.getBoundingClientRect();
            return [box.x, box.y, box.width, box.height];
        })"""
        return await self.page.run(read, selector)

    async def middle(self, selector: str, number: int = 0) -> Point:
        return middle(await self.box(selector, number))

    async def text(self, selector: str) -> str:
        return await self.page.run("(s) => document.querySelector(s).textContent", selector)

    async def words(self, selector: str, part: str = "") -> list[float]:
        """The box of a part of its text, or of all."""
        read = """(s, part) => {
            const walk = document.createTreeWalker(document.querySelector(s), NodeFilter.SHOW_TEXT);
            for (let node = walk.nextNode(); node; node = walk.nextNode()) {
                const at = node.data.indexOf(part), range = document.createRange();
                if (at < 0 || !node.data.trim()) continue;
                range.setStart(node, at);
                range.setEnd(node, part ? at + part.length : node.data.trimEnd().length);
                const lines = [...range.getClientRects()], first = lines[0], last = lines.at(-1);
                return [first.left, first.top + first.height / 2, last.right, last.top + last.height / 2];
            }
        }"""
        return await self.page.run(read, selector, part)

    async def submit(self) -> None:
        await self.do(ClickAt(await self.middle("#area button")))

    async def solved(self) -> bool:
        state = await self.page.fetch_json(f"http://{HOST}:{self._port}/_elcano/state")
        return state["done"] and state["raw_reward"] > 0


def middle(box: list[float]) -> Point:
    return Point(box[0] + box[2] / 2, box[1] + box[3] / 2)


async def drag_a_shape(hand: Hand, selector: str) -> None:
    way = re.search(r"(left|right|up|down)", await hand.text("#query"))[1]
    right, down = {"left": (-40, 0), "right": (40, 0), "up": (0, -40), "down": (0, 40)}[way]
    at = await hand.middle(selector)
    await hand.do(DragAt(at, Point(at.x + right, at.y + down)))
    await hand.submit()


async def drag_circle(hand: Hand) -> None:
    await drag_a_shape(hand, "circle")


async def drag_single_shape(hand: Hand) -> None:
    await drag_a_shape(hand, ".black-shape")


async def drag_box(hand: Hand) -> None:
    await hand.do(DragAt(await hand.middle("#draggableSmall"), await hand.middle("#draggableLarge")))
    await hand.submit()


async def drag_shapes(hand: Hand) -> None:
    kind = re.search(r"all (\w+)", await hand.text("#query"))[1]
    selector = {"rectangles": "rect:not(#shape-container)", "circles": "circle", "triangles": "polygon"}[kind]
    left, top, width, height = await hand.box("#shape-container")
    for number, box in enumerate(await hand.boxes(selector)):
        await hand.do(DragAt(middle(box), Point(left + width * (0.2 + 0.2 * number), top + height / 2)))
    await hand.submit()


async def drag_sort_numbers(hand: Hand) -> None:
    read = "() => [...document.querySelectorAll('#sortable li')].map(e => +e.textContent)"
    for place in range(10):
        numbers = await hand.page.run(read)
        if numbers == sorted(numbers):
            break
        wanted = numbers.index(sorted(numbers)[place])
        if wanted != place:
            x, y, width, _ = await hand.box("#sortable li", place)
            await hand.do(DragAt(await hand.middle("#sortable li", wanted), Point(x + width / 2, y + 1)))
    await hand.submit()


async def draw_line(hand: Hand) -> None:
    at, is_upright = await hand.middle("#circ"), "vertical" in await hand.text("#query")
    right, down = (0, 20) if is_upright else (20, 0)
    await hand.do(DragAt(Point(at.x - right, at.y - down), Point(at.x + right, at.y + down)))
    await hand.submit()


async def resize_textarea(hand: Hand) -> None:
    query, at = await hand.text("#query"), await hand.middle(".ui-resizable-se")
    by = 15 if "larger" in query else -15
    right, down = (by, 0) if "width" in query else (0, by)
    await hand.do(DragAt(at, Point(at.x + right, at.y + down)))
    await hand.submit()


async def use_slider(hand: Hand) -> None:
    wanted = int(re.search(r"-?\d+", await hand.text("#query"))[0])
    await hand.do(ClickAt(await hand.middle(".ui-slider-handle")))
    for _ in range(120):
        off = wanted - int(await hand.text("#val"))
        if off == 0:
            break
        await hand.do(Press(("ArrowRight" if off > 0 else "ArrowLeft",)))
    await hand.submit()


async def highlight_text(hand: Hand) -> None:
    left, top, right, bottom = await hand.words("#randomText")
    await hand.do(DragAt(Point(left, top), Point(right, bottom)))
    await hand.submit()


async def text_editor(hand: Hand) -> None:
    word = await hand.text("#query .bold")
    style = (await hand.page.run("() => [...document.querySelectorAll('#query .bold')].at(-1).textContent")).strip()
    left, top, right, bottom = await hand.words(".ql-editor", word)
    await hand.do(DragAt(Point(left, top), Point(right, bottom)))
    await hand.do(
        ClickAt(await hand.middle({"bold": ".ql-bold", "italics": ".ql-italic", "underlined": ".ql-underline"}[style]))
    )
    await hand.do(ClickAt(await hand.middle("#subbtn")))


async def circle_center(hand: Hand) -> None:
    await hand.do(ClickAt(await hand.middle(".black-circle")))
    await hand.submit()


async def find_midpoint(hand: Hand) -> None:
    one, other = [middle(box) for box in await hand.boxes(".black-circle")]
    await hand.do(ClickAt(Point((one.x + other.x) / 2, (one.y + other.y) / 2)))
    await hand.submit()


async def grid_coordinate(hand: Hand) -> None:
    await hand.do(ClickAt(await hand.middle(f"[id='{await hand.text('#query .bold')}']")))


async def copy_paste(hand: Hand) -> None:
    await hand.do(
        ClickAt(await hand.middle("#text-to-copy, #area textarea")), Press(("Control", "a")), Press(("Control", "c"))
    )
    await hand.do(ClickAt(await hand.middle("#answer-input")), Press(("Control", "v")))
    await hand.submit()


async def terminal(hand: Hand) -> None:
    query = await hand.text("#query")
    ending = re.search(r"extension (\.\S+)", query)
    await hand.do(ClickAt(await hand.middle("#terminal")))
    await type_keys(hand, "ls")
    files = (await hand.page.run("() => [...document.querySelectorAll('.output')].at(-1).textContent")).split()
    name = next(file for file in files if (file.endswith(ending[1]) if ending else "." not in file))
    await type_keys(hand, f"rm {name}")


async def type_keys(hand: Hand, text: str) -> None:
    await hand.do(*(Press((character,)) for character in text), Press(("Enter",)))


SOLVED: dict[str, Solve] = {
    solve.__name__.replace("_", "-"): solve
    for solve in (
        *(drag_circle, drag_single_shape, drag_box, drag_shapes, drag_sort_numbers, draw_line, resize_textarea),
        *(use_slider, highlight_text, text_editor, circle_center, find_midpoint, grid_coordinate),
        *(copy_paste, terminal),
    )
}
SEEDS = {"text-editor": 1}


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with served("environments.miniwob") as port:
        yield port


@pytest.mark.parametrize("name", SOLVED)
def test_it_is_solved_at_points(browser: OneBrowser, port: int, name: str) -> None:
    async def go() -> bool:
        async with browser.page(page_of(name, SEEDS.get(name, 4), port)) as page:
            hand = Hand(page, port)
            await SOLVED[name](hand)
            return await hand.solved()

    assert lacks(name, "qwen_computer_use") == []
    assert browser.wait(go())
