"""The viewer in a real Chromium while answers are slow, folders change and screens are small."""

import asyncio
import contextlib
import json
import math
import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from starlette.types import ASGIApp, Receive, Scope, Send

from data.outcome import Verdict
from environments.browser.page.page import Page
from tests.environments.conftest import OneBrowser, open_browser
from tests.toolkits.trajectories import write_trajectory
from tests.viewer.chromium import be_phone, press, served, until
from tests.viewer.conftest import TOKEN
from tests.viewer.hostile import TEXTS, write_hostile
from viewer import compare
from viewer.answers import Answers
from viewer.app import create_app
from viewer.catalog.index import Index
from viewer.export import export_run

COUNTED = "document.querySelector('main > [role=status]')?.textContent"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OneBrowser]:
    yield from open_browser(tmp_path_factory)


class Slow:
    """An application whose answers at addresses with `slow` in them wait; `is_asked` tells that one does."""

    def __init__(self, app: ASGIApp):
        self.app, self.slow, self.is_asked = app, "", False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        address = f"{scope.get('path')}?{scope.get('query_string', b'').decode()}"
        while self.slow and self.slow in address:
            self.is_asked = True
            await asyncio.sleep(0.02)
        await self.app(scope, receive, send)

    @contextlib.asynccontextmanager
    async def hold(self, what: str) -> AsyncIterator[None]:
        """From its beginning these answers wait; it ends when what happens in it has asked for one."""
        self.slow, self.is_asked = what, False
        yield
        while not self.is_asked:
            await asyncio.sleep(0.02)


@pytest.fixture
def index(tmp_path: Path) -> Index:
    """Of twelve trajectories, four of which think of alpha, the others of beta."""
    for number in range(12):
        verdict = Verdict.FAILURE if number % 2 else Verdict.SUCCESS
        folder = write_trajectory(tmp_path / "r" / "test", f"Shop--{number}", num_steps=2, verdict=verdict)
        written = (folder / "steps.jsonl").read_text()
        (folder / "steps.jsonl").write_text(written.replace("step 1", "alpha" if number < 4 else "beta"))
    found = Index([tmp_path / "r"], tmp_path / "index.sqlite")
    found.refresh()
    return found


async def choose(page: Page, field: str, value: str, event: str) -> None:
    """As a person does who goes on with something else."""
    await page.run(
        f"""() => {{
        const one = document.getElementById('{field}');
        one.value = '{value}';
        one.dispatchEvent(new Event('{event}'));
        }}"""
    )


@contextlib.asynccontextmanager
async def looked_at(browser: OneBrowser, index: Index, address: str) -> AsyncIterator[tuple[Page, Slow]]:
    """A page of the viewer, and what makes its answers slow."""
    slow = Slow(create_app(Answers(index), TOKEN))
    with served(slow) as url:
        try:
            async with browser.page(url + address) as page:
                yield page, slow
        finally:
            slow.slow = ""


def test_an_older_search_does_not_win(browser: OneBrowser, index: Index) -> None:
    async def look() -> None:
        async with looked_at(browser, index, "#/rows/r") as (page, slow):
            await until(page, f"{COUNTED} === '12 of 12 trajectories'")
            async with slow.hold("words=alpha"):
                await choose(page, "search", "alpha", "input")
            await choose(page, "search", "beta", "input")
            await until(page, f"{COUNTED} === '8 of 12 trajectories'")
            slow.slow = ""
            await asyncio.sleep(1)
            assert await page.run(f"() => {COUNTED}") == "8 of 12 trajectories"
            assert (await page.run("() => location.hash")).endswith("words=beta")

    browser.wait(look())


def test_an_older_table_does_not_take_the_newer_ones_address(browser: OneBrowser, index: Index) -> None:
    async def look() -> None:
        async with looked_at(browser, index, "#/rows/r") as (page, slow):
            await until(page, f"{COUNTED} === '12 of 12 trajectories'")
            async with slow.hold("words=alpha"):
                await page.run("() => { location.hash = '#/rows/r?words=alpha' }")
            await page.run("() => { location.hash = '#/rows/r?outcome=failure' }")
            await until(page, f"{COUNTED} === '6 of 12 trajectories'")
            slow.slow = ""
            await asyncio.sleep(1)
            assert await page.run("() => location.hash") == "#/rows/r?outcome=failure"

    browser.wait(look())


def test_what_is_chosen_while_a_grown_table_is_fetched_stays(browser: OneBrowser, index: Index, tmp_path: Path) -> None:
    """So do words, and a note on a trajectory that is under way."""
    growing = write_trajectory(tmp_path / "r" / "test", "Live--1", num_steps=2, status=None)

    async def look() -> None:
        index.refresh()
        async with looked_at(browser, index, "#/rows/r") as (page, slow):
            await until(page, f"{COUNTED} === '13 of 13 trajectories'")
            async with slow.hold("/answer/rows"):  # the page keeps up by itself
                write_trajectory(tmp_path / "r" / "test", "Shop--20", num_steps=2)
                await asyncio.to_thread(index.refresh)
            await choose(page, "filter-outcome", "success", "change")
            slow.slow = ""
            await until(page, f"{COUNTED} === '7 of 14 trajectories'")  # and follows
            assert await page.run("() => location.hash") == "#/rows/r?outcome=success"
            await page.run("() => { location.hash = '#/t/r%2Ftest/taskLive--1/1' }")
            await until(page, "document.querySelectorAll('.strip li').length === 2")
            line = json.loads((growing / "steps.jsonl").read_text().splitlines()[0])
            async with slow.hold("/answer/trajectory"):
                with open(growing / "steps.jsonl", "a") as steps:
                    steps.write(json.dumps({**line, "number": 3}) + "\n")
                shutil.copyfile(growing / "screenshot2.png", growing / "screenshot3.png")
                await asyncio.to_thread(index.refresh)
            note = "document.querySelector('[aria-label=note]')"
            await page.run(f"() => {{ {note}.focus(); {note}.value = 'half a thou' }}")
            slow.slow = ""
            await asyncio.sleep(1)
            assert await page.run(f"() => {note}.value") == "half a thou"
            await page.run(f"() => {{ {note}.value = ''; {note}.blur() }}")
            await press(page, "ArrowRight")  # the keys are those of the page that is there
            await until(page, "location.hash.endsWith('/2')")
            await until(page, "document.querySelectorAll('.strip li').length === 3")

    browser.wait(look())


def test_escape_goes_to_the_table_wherever_one_came_from(browser: OneBrowser, index: Index) -> None:
    async def look() -> None:
        async with looked_at(browser, index, "#/t/r%2Ftest/taskShop--3/1.5") as (page, _):
            await until(page, "document.querySelector('.stage span')?.textContent === ' step 1 of 2'")
            await press(page, "Escape")
            await until(page, "location.hash.startsWith('#/rows/r')")
            await until(page, "document.querySelectorAll('td a').length === 12")
            await page.run("() => document.querySelectorAll('td a')[1].click()")
            for name in ("Shop--1", "Shop--10", "Shop--11"):
                await until(page, f"document.querySelector('nav')?.textContent.endsWith('task{name}')")
                await press(page, "]")
            await press(page, "Escape")
            await until(page, "location.hash.startsWith('#/rows/r')")
            await page.run("() => { location.hash = '#/t/%' }")
            await until(page, "document.querySelector('.problem')?.textContent === 'this address shows nothing: #/t/%'")

    browser.wait(look())


def test_elements_are_walked_by_arrows_and_left_by_one_tab(browser: OneBrowser, index: Index, tmp_path: Path) -> None:
    tree = "\n".join(f"[{number}] link 'one'" for number in range(1, 3000))
    (tmp_path / "r" / "test" / "taskShop--0" / "accessibility_tree1.txt").write_text(tree)

    async def look() -> None:
        async with looked_at(browser, index, "#/t/r%2Ftest/taskShop--0/1") as (page, _):
            await until(page, "document.querySelector('.tree')")
            last = "() => document.querySelector('.tree').lastChild.textContent"
            assert await page.run(last) == "(2000 of 2999 lines are shown)"
            await page.run("() => document.querySelector('.tree li').focus()")
            for key in ("ArrowDown", "ArrowDown", "ArrowUp"):
                await press(page, key)
            assert await page.run("() => document.querySelector('.tree .chosen').textContent") == "[2] link 'one'"
            assert await page.run("() => document.querySelectorAll('.tree [tabindex=\"0\"]').length") == 1

    browser.wait(look())


def test_a_step_is_shown_in_the_strip_and_the_page_stays(browser: OneBrowser, index: Index, tmp_path: Path) -> None:
    write_trajectory(tmp_path / "r" / "test", "Long--1", num_steps=30)
    index.refresh()
    is_seen = """(() => {
        const { left, right } = document.querySelector('[aria-current=step]').getBoundingClientRect();
        return left >= 0 && right <= innerWidth;
    })()"""

    async def look() -> None:
        async with looked_at(browser, index, "#/t/r%2Ftest/taskLong--1/25") as (page, _):
            await until(page, "document.querySelector('.page img')?.naturalWidth === 32")
            await until(page, is_seen)
            await page.run("() => { document.body.style.minHeight = '3000px'; scrollTo(0, 700) }")
            for key, step in (("Home", 1), ("End", 30)):
                await press(page, key)
                await until(page, f"location.hash.endsWith('/{step}') && {is_seen}")
            assert await page.run("() => scrollY") == 700

    browser.wait(look())


def test_tasks_whose_steps_are_not_compared_are_told(
    browser: OneBrowser, index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        write_trajectory(tmp_path / "r" / "later", f"Shop--{number}", num_steps=1)
    index.refresh()
    monkeypatch.setattr(compare, "_MAX_PARTINGS", 1)

    async def look() -> None:
        async with looked_at(browser, index, "#/compare/r%2Ftest/r%2Flater") as (page, _):
            await until(page, "document.querySelector('table')")
            said = await page.run("() => document.querySelector('p.hint').textContent")
            assert said == "Where they part is told of the first 1 tasks, those with a change first."
            parts = "() => [...document.querySelectorAll('td:last-child')].filter(one => one.textContent.includes('|'))"
            assert await page.run(f"{parts}.length") == 1

    browser.wait(look())


def test_numbers_that_cannot_be_drawn_are_told(browser: OneBrowser, index: Index, tmp_path: Path) -> None:
    log = tmp_path / "r" / "IL" / "training" / "log" / "IL"
    log.mkdir(parents=True)
    steps = [{"iteration": at, "loss": math.nan if at > 3 else at, "norm": math.inf} for at in range(1, 6)]
    (log / "metrics.jsonl").write_text("".join(json.dumps(step) + "\n" for step in steps))

    async def look() -> None:
        async with looked_at(browser, index, "#/run/r") as (page, _):
            await until(page, "document.querySelectorAll('figure').length === 2")
            assert await page.run("() => [...document.querySelectorAll('figcaption')].map(one => one.textContent)") == [
                "loss: last NaN or beyond 1e15; NaN or beyond 1e15 at 2 of 5 points, iteration 4 to 5",
                "norm: last NaN or beyond 1e15; NaN or beyond 1e15 at 5 of 5 points, iteration 1 to 5",
            ]

    browser.wait(look())


def test_pages_fit_a_phone(browser: OneBrowser, tmp_path: Path) -> None:
    """Served and exported, also those of long words."""
    write_hostile(tmp_path / "hostile")
    for number, text in enumerate(TEXTS):  # the others are as wide as the plain one
        if len(text.split()) > 3:
            shutil.rmtree(tmp_path / "hostile" / f"taskText--{number}")
    for folder in (tmp_path / "hostile").glob("taskBroken*"):
        shutil.rmtree(folder)
    found = Index([tmp_path / "hostile"], tmp_path / "index.sqlite")
    found.refresh()
    export_run(Answers(found), found.runs[0], tmp_path / "out")
    names = [head.name for head in found.heads(found.runs[0].sets[0]) if head.name.startswith("taskText")]
    wide = "() => [innerWidth, document.documentElement.scrollWidth]"

    async def look() -> list[str]:
        too_wide = []
        async with looked_at(browser, found, "#/rows/hostile") as (page, _):
            await be_phone(page, 360)
            for address in (
                "#/rows/hostile",
                "#/run/hostile",
                "#/live",
                *(f"#/t/hostile%2F./{name}/1" for name in names),
            ):
                await page.run(
                    f"() => {{ document.querySelector('main').replaceChildren(); location.hash = '{address}' }}"
                )
                await until(page, "document.querySelector('h1')")
                if await page.run(wide) != [360, 360]:
                    too_wide.append(address)
            for path in ("index.html", "trajectories/000001.html"):
                await page.send("Page.navigate", {"url": (tmp_path / "out" / path).as_uri()})
                await until(page, "document.querySelector('h1')")
                if await page.run(wide) != [360, 360]:
                    too_wide.append(path)
        return too_wide

    assert browser.wait(look()) == []
