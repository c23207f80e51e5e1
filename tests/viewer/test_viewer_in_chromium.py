"""The viewer's pages in a real Chromium: nothing that they show runs, and a person finds why a task failed."""

import asyncio
import json
import math
import shutil
from collections.abc import Iterator
from pathlib import Path

import pyarrow
import pytest
from pyarrow import parquet
from tokenizers import Tokenizer

from common.defaults import STARTING_POLICY
from data.outcome import Verdict
from environments.browser.page.page import Page
from tests.environments.conftest import OneBrowser, open_browser
from tests.toolkits.trajectories import write_trajectory
from tests.viewer.chromium import press, served, until
from tests.viewer.conftest import TOKEN
from tests.viewer.hostile import write_hostile
from viewer.answers import Answers
from viewer.app import create_app
from viewer.catalog.index import Index
from viewer.export import export_run, trajectory_page

FAINT_TEXTS = """() => {
    const rgb = color => color.match(/[\\d.]+/g).map(Number);
    const linear = x => x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4;
    const light = ([r, g, b]) => 0.2126 * linear(r / 255) + 0.7152 * linear(g / 255) + 0.0722 * linear(b / 255);
    const behind = one => {
        for (; one; one = one.parentElement) {
            const color = rgb(getComputedStyle(one).backgroundColor);
            if (color[3] !== 0) return color;
        }
        return [255, 255, 255];
    };
    const isText = node => node.nodeType === Node.TEXT_NODE && node.textContent.trim();
    const faint = [];
    for (const one of document.querySelectorAll('main :not(svg *):not(:disabled)')) {
        if (![...one.childNodes].some(isText)) continue;
        const [low, high] = [light(rgb(getComputedStyle(one).color)), light(behind(one))].sort((a, b) => a - b);
        if ((high + 0.05) / (low + 0.05) < 4.5) faint.push(one.className + ': ' + one.textContent.slice(0, 40));
    }
    return faint;
}"""
REPLY = "Thought: step 2.\n\nAction: Click [2]"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OneBrowser]:
    yield from open_browser(tmp_path_factory)


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Answers:
    """The hostile trajectories, and a run with two rounds that were tested."""
    base = tmp_path_factory.mktemp("viewed")
    write_hostile(base / "hostile")
    for number in range(4):
        write_trajectory(base / "night" / "untrained" / "test", f"Shop--{number}", verdict=Verdict.FAILURE)
        solved = Verdict.SUCCESS if number else Verdict.FAILURE
        folder = write_trajectory(base / "night" / "IL" / "test", f"Shop--{number}", num_steps=3, verdict=solved)
        (folder / "boxes1.json").write_text('{"1": [0, 0, 32, 24], "2": [4, 6, 10, 5]}')
    (base / "night" / "summary.json").write_text('{"rounds": [{"name": "IL", "success_rate": 0.5}]}')
    (base / "night" / "IL" / "policy").mkdir()
    for path in STARTING_POLICY.iterdir():
        if path.suffix != ".safetensors":
            shutil.copyfile(path, base / "night" / "IL" / "policy" / path.name)
    _give_tokens(base / "night" / "IL", folder)
    index = Index([base / "hostile", base / "night"], base / "cache.sqlite")
    index.refresh()
    return Answers(index)


def _give_tokens(round: Path, folder: Path) -> None:
    """To the second step of a trajectory, and to its sample a reference that likes the last token half as much and
    has lost the first."""
    tokenizer = Tokenizer.from_file(str(STARTING_POLICY / "tokenizer.json"))
    steps = [json.loads(line) for line in (folder / "steps.jsonl").read_text().splitlines()]
    ids = tokenizer.encode(REPLY, add_special_tokens=False).ids
    steps[1] |= {"reply": REPLY, "token_ids": ids, "logprobs": [-0.1] * (len(ids) - 1) + [-1.5]}
    (folder / "steps.jsonl").write_text("".join(json.dumps(step) + "\n" for step in steps))
    summary = json.loads((folder / "trajectory.json").read_text())
    (folder / "trajectory.json").write_text(json.dumps({**summary, "provenance": {"max_attached_imgs": 1}}))
    (round / "columns").mkdir()
    reference = [[math.nan] + [-0.1] * (len(ids) - 2) + [-1.5 + math.log(0.5)]]
    rows = {"id": ["Shop--00003--r01--step02"], "reference_logprobs": reference, "toString": [1.0]}
    parquet.write_table(pyarrow.table(rows), round / "columns" / "reference.parquet")


@pytest.fixture(scope="module")
def url(answers: Answers) -> Iterator[str]:
    with served(create_app(answers, TOKEN)) as address:
        yield address


async def is_caught(page: Page) -> bool:
    """Whether something ran in the page's own world, which ours is apart from."""
    asked = {"expression": "Boolean(window.caught)", "returnByValue": True}
    return (await page.send("Runtime.evaluate", asked))["result"]["value"]


@pytest.mark.parametrize("which", ["taskText", pytest.param("task", marks=pytest.mark.slow)])
def test_nothing_that_is_shown_runs(browser: OneBrowser, url: str, answers: Answers, which: str) -> None:
    """Every hostile trajectory is opened; a page that runs something sets `caught`."""
    heads = answers.index.heads(answers.index.runs[0].sets[0])
    names = [head.name for head in heads if head.name.startswith(which)]

    async def look() -> list[str]:
        caught = []
        async with browser.page(f"{url}#/rows/hostile") as page:
            await until(page, "document.querySelectorAll('tbody tr').length >= 100")
            assert not await is_caught(page)
            for name in names:
                await page.run(
                    f"() => {{ location.hash = '#/t/hostile%2F./' + encodeURIComponent({json.dumps(name)}) + '/1' }}"
                )
                told = name.replace("\u202e", "\\u202e")  # which would turn our own words
                await until(page, f"document.querySelector('nav')?.textContent.endsWith({json.dumps(told)})")
                if await page.run(
                    "() => window.caught || document.querySelector('main script, iframe, base') !== null"
                    " || document.body.innerText.includes('\\u202e')"
                ):
                    caught.append(name)
        return caught

    assert browser.wait(look()) == []


def test_the_policy_stops_a_script_that_got_in(browser: OneBrowser, url: str) -> None:
    """The control: markup set on purpose does not run either, which it does on a page without the policy."""
    trap = "<img src=x onerror='window.caught=1'>"

    async def set_on(address: str) -> bool:
        async with browser.page(address) as page:
            await page.run(f"() => {{ document.body.innerHTML = {json.dumps(trap)} }}")
            await asyncio.sleep(0.5)
            return await is_caught(page)

    assert not browser.wait(set_on(url))
    assert browser.wait(set_on("about:blank"))


def test_from_the_run_to_why_a_task_failed_by_two_clicks_and_the_keyboard(browser: OneBrowser, url: str) -> None:
    async def click(page: Page, selector: str, text: str) -> None:
        wanted = f"[...document.querySelectorAll('{selector}')].find(one => one.textContent.includes('{text}'))"
        await until(page, f"{wanted} !== undefined")
        await page.run(f"() => {wanted}.click()")

    async def look() -> None:
        async with browser.page(f"{url}#/run/night") as page:
            await click(page, "a.tally", "failure 1")
            await until(page, "document.querySelector('[role=status]')?.textContent === '1 of 8 trajectories'")
            await page.run("() => { document.body.style.minHeight = '9999px'; scrollTo(0, 500) }")
            await click(page, "td a", "Shop--0")
            await until(page, "document.querySelector('.verdict')?.textContent.includes('test says failure')")
            assert await page.run("() => scrollY") == 0  # a page begins at its top
            await press(page, "s")
            await until(page, "document.querySelector('[aria-pressed=true]')?.textContent === 'success'")
            assert await page.run("() => document.querySelectorAll('.verdict')[1].textContent") == "person says success"
            await until(page, "document.querySelector('.page img')?.naturalWidth === 32")
            assert await page.run("() => document.querySelector('.action').textContent") == "Click [1] 'Shop 1'"
            box = """() => ['x', 'y', 'width', 'height']
                .map(name => +document.querySelector('.marks .acted').getAttribute(name))"""
            assert await page.run(box) == [0, 0, 32, 24]
            await page.run("() => document.querySelector('.tree li:nth-child(2)').focus()")
            assert await page.run(box.replace(".acted", ".chosen")) == [4, 6, 10, 5]  # the tree's line shows its place
            await page.run(
                """() => {
                const shown = document.querySelector('.page');
                const { left, top, width, height } = shown.getBoundingClientRect();
                const at = { clientX: left + (width * 8) / 32, clientY: top + (height * 8) / 24 };
                shown.dispatchEvent(new MouseEvent('click', at));
                }"""
            )
            chosen = await page.run("() => document.querySelector('.tree .chosen').textContent")
            assert "[2] link" in chosen  # and its place the line
            await page.run("() => document.querySelector('#toggle').focus()")
            await press(page, "ArrowRight")
            await until(page, "document.querySelector('.action')?.textContent === `Click [2] 'shoe'`")
            assert (await page.run("() => location.hash")).endswith("/taskShop--0/2")  # a link to this step
            assert await page.run("() => document.activeElement.id") == "toggle"  # the keyboard is where it was
            await page.run("() => { location.hash = '#/compare/night%2Funtrained%2Ftest/night%2FIL%2Ftest' }")
            await until(page, "document.body.innerText.includes('3 won, 0 lost')")
            assert await page.run("() => document.title + document.querySelector('h2').textContent") == (
                "untrained/test and IL/test · ElcanoWon by IL/test"
            )
            await page.run("() => { location.hash = '#/run/night' }")
            await until(page, "document.body.innerText.includes('Sets of trajectories')")
            assert "null" not in await page.run("() => document.body.innerText")  # of a round that is half done
            await page.run("() => { location.hash = '#/rows/night?site=nowhere' }")
            await until(page, "document.querySelector('[role=status]')?.textContent === '0 of 8 trajectories'")

    browser.wait(look())


def test_tokens_are_words_and_colored_as_chosen(browser: OneBrowser, url: str) -> None:
    """Under the run's own tokenizer, with the mask that its training applies and a column of another policy."""

    async def look() -> None:
        async with browser.page(f"{url}#/t/night%2FIL%2Ftest/taskShop--3/2") as page:
            await until(page, "document.querySelector('.tree')")
            pane = "[...document.querySelectorAll('details')].find(one => one.textContent.includes('Tokens'))"
            await page.run(f"() => {{ {pane}.open = true }}")
            await until(page, "document.querySelectorAll('.tokens .token').length", 200)

            async def said(kind: str) -> str:
                found = "[...document.querySelectorAll('.tokens .token')].filter(one => one.matches(kind))"
                asked = f"{found}.map(one => one.textContent).join('')"
                return await page.run(f"() => {{ const kind = '{kind}'; return {asked} }}")

            async def choose(title: str) -> None:
                await page.run(
                    f"""() => {{
                    const choice = document.querySelector('[aria-label="color tokens by"]');
                    choice.value = '{title}';
                    choice.dispatchEvent(new Event('change'));
                    }}"""
                )

            assert "OBSERVATION:" in await said(".token:not(.p0, .p1)") and REPLY in await said(".p0, .p1")
            await choose("loss mask")
            assert "OBSERVATION:" in await said(".m0") and (await said(".m1")).startswith(REPLY)
            await choose("ratio of reference_logprobs to when sampled")
            assert len((await said(".l2")).split()) == 1 and REPLY.endswith(await said(".l2"))

    browser.wait(look())


def test_its_controls_have_names_and_roles(browser: OneBrowser, url: str) -> None:
    """What a screen reader is told of the pages: no button, link, field or picture without a name; and what is seen: no
    text with less contrast than WCAG's 4.5 to 1."""

    async def faults(address: str, condition: str) -> list[str]:
        async with browser.page(address) as page:
            await until(page, condition)
            nodes = (await page.send("Accessibility.getFullAXTree"))["nodes"]
            told = [
                (node.get("role", {}).get("value"), node.get("name", {}).get("value"))
                for node in nodes
                if not node["ignored"]
            ]
            kinds = {"button", "link", "searchbox", "combobox", "spinbutton", "checkbox", "image", "textbox", "meter"}
            assert {"heading", "navigation"} <= {role for role, _ in told}
            await page.send(
                "Emulation.setDeviceMetricsOverride",
                {"width": 400, "height": 800, "deviceScaleFactor": 1, "mobile": False},
            )
            assert await page.run("() => document.documentElement.scrollWidth") <= 400, "the page scrolls sideways"
            return [role for role, name in told if role in kinds and not name] + await page.run(FAINT_TEXTS)

    pages = {
        "#/run/night": "document.querySelector('table')",
        "#/rows/night": "document.querySelector('td')",
        "#/t/night%2FIL%2Ftest/taskShop--1/1": "document.querySelector('.tree')",
        "#/live": "[...document.querySelectorAll('.wall img')].some(one => one.naturalWidth === 32)",
    }
    for place, condition in pages.items():
        assert browser.wait(faults(url + place, condition)) == [], place


def test_exported_pages_open_by_themselves(browser: OneBrowser, answers: Answers, tmp_path: Path) -> None:
    left = tmp_path / "trajectories" / "000099.html"  # of a larger export
    left.parent.mkdir()
    left.touch()
    assert export_run(answers, answers.index.runs[1], tmp_path) == 8 and not left.exists()
    hostile = json.loads(answers.answer("trajectory", {"set": "hostile/.", "name": "taskText--1"}))
    (tmp_path / "trajectories" / "hostile.html").write_text(trajectory_page(answers, hostile), encoding="utf-8")

    async def look(name: str, condition: str) -> bool:
        async with browser.page("about:blank") as page:
            await page.send("Page.navigate", {"url": f"{tmp_path.as_uri()}/{name}"})
            await until(page, condition)
            return await is_caught(page)

    rows = "document.body.innerText.includes('IL/test')"
    assert not browser.wait(look("index.html", rows))
    picture = "document.querySelector('.page img')?.naturalWidth === 32"
    assert not browser.wait(look("trajectories/000001.html", picture))
    compared = "#/compare/night%2Funtrained%2Ftest/night%2FIL%2Ftest"
    assert not browser.wait(look(f"index.html{compared}", "document.body.innerText.includes('3 won, 0 lost')"))
    words = "document.getElementById('search')?.placeholder === 'words of task  ( / )'"  # all that it holds
    assert not browser.wait(look("index.html#/rows/night", words))
    back = "document.querySelector('nav a[href^=\"../index.html#/rows\"]')"
    assert not browser.wait(look("trajectories/000001.html", back))
    assert not browser.wait(
        look("trajectories/hostile.html", "document.querySelector('.thought')?.textContent.includes('window.caught')")
    )
