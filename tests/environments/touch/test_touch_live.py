"""The phone in Chromium: fingers, keys, the screen that others may drive, and every family through the collector."""

import asyncio
import base64
import io
import re
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from PIL import Image, ImageChops

import environments
from common.background import run_in_background
from common.processes import served
from data.action_spaces import action_space
from data.action_spaces.translate import Page, translate
from data.trajectory import read_trajectory
from environments.browser.fleet import Fleet
from environments.browser.page.settle import settle
from environments.touch.chromium_screen import VIEWPORT, ChromiumScreen
from environments.touch.expert.expert import reply
from environments.touch.families import FAMILIES
from tests.conftest import ROOT

_HEARD = """() => {
    window.heard = [];
    for (const kind of ["touchstart", "touchend", "click", "contextmenu"])
        addEventListener(kind, (event) => {
            const at = event.changedTouches?.[0] ?? event;
            heard.push([kind, Math.round(at.clientX), Math.round(at.clientY)]);
        }, true);
}"""


@pytest.fixture(scope="module")
def port():
    with served("environments.touch") as port:
        yield port


@asynccontextmanager
async def phone(port: int, folder: Path, seed: int = 1) -> AsyncIterator[ChromiumScreen]:
    async with Fleet(1, headless=True, viewport=VIEWPORT) as fleet, fleet.page(0, folder) as page:
        home = f"http://phone.localhost:{port}/"
        await page.goto(f"{home}start/{seed}")
        await settle(page)
        yield ChromiumScreen(page, home)


async def tap_on(screen: ChromiumScreen, name: str) -> None:
    element = next(one for one in await screen.tree() if name == (one.name or one.text) and one.is_clickable)
    await screen.tap(*element.center)


async def texts(screen: ChromiumScreen) -> list[str]:
    """The title first."""
    root, *others = await screen.tree()
    return [root.text.partition(" - ")[0], *(element.text for element in others)]


async def state(screen: ChromiumScreen) -> dict:
    return await screen.page.fetch_json(f"{screen.home}_elcano/state")


def test_fingers_land_where_they_should(port: int, tmp_path: Path) -> None:
    """A tap is a touch and a click, a swipe scrolls and clicks nothing, and a screenshot has the screen's size."""

    async def go() -> None:
        async with phone(port, tmp_path) as screen:
            with Image.open(io.BytesIO(await screen.screenshot())) as image:
                assert image.size == screen.size == (412, 915)
            await tap_on(screen, "Contacts")
            await screen.page.run(_HEARD)
            await screen.swipe(200, 800, 200, 300)
            scrolled = await screen.page.run("() => scrollY")
            heard = await screen.page.run("() => heard")
            assert 400 <= scrolled <= 500 and "click" not in [kind for kind, *_ in heard]
            await screen.page.run("() => { heard.length = 0; }")
            await screen.tap(80, 30)  # the title, which does nothing
            assert (await screen.page.run("() => heard"))[:2] == [["touchstart", 80, 30], ["touchend", 80, 30]]
            assert ["click", 80, 30] in await screen.page.run("() => heard")

    asyncio.run(go())


def test_keys_text_and_what_they_leave(port: int, tmp_path: Path) -> None:
    """Text needs a cursor, enter searches, back leads out of an app, and home to where it ends."""

    async def go() -> None:
        async with phone(port, tmp_path) as screen:
            await screen.type("nowhere")
            await tap_on(screen, "Contacts")
            names = [one.text for one in await screen.tree() if one.kind == "link"][1:]
            await tap_on(screen, "Search contacts")
            await screen.type(names[3])
            field = next(one for one in await screen.tree() if one.is_editable)
            assert (field.text, field.is_focused) == (names[3], True)
            await screen.key("enter")
            found = await texts(screen)
            assert found[0] == "People found" and names[3] in found and names[4] not in found
            await tap_on(screen, names[3])
            before = next(one.is_checked for one in await screen.tree() if one.kind == "switch")
            await tap_on(screen, "Favorite")
            assert next(one.is_checked for one in await screen.tree() if one.kind == "switch") is not before
            await tap_on(screen, "Delete contact")
            assert "Nobody found" in await texts(screen)
            await screen.key("back")
            assert (await texts(screen))[0] == "All contacts"
            await screen.key("back")
            await screen.key("back")
            assert (await texts(screen))[0] == "Home screen"
            assert [change["what"] for change in (await state(screen))["changes"]] == [names[3]]

    asyncio.run(go())


_LINK = """() => { document.body.innerHTML = '<a href="/clock" target=_blank style="font-size: 60px">Elsewhere</a>' }"""


def test_back_closes_what_a_link_opened_and_the_last_screen_is_kept() -> None:
    with environments.make("touch", env_tasks=("clock-add",), action_space="appagent", max_steps=4) as env:
        env.reset()
        [phone] = env._inner.episodes
        page = phone._environment.page
        run_in_background(page.run(_LINK))
        view, *_ = env.step("Thought: t\nAction: tap(1)\nSummary: s")
        assert view.seen.url.endswith("/clock") and len(view.seen.tabs) == 2
        view, *_ = env.step("Thought: t\nAction: back()\nSummary: s")
        assert "Elsewhere" in view.seen.tree and view.seen.tabs == () and phone._environment.page is page
        env.step("Thought: t\nAction: home()\nSummary: s")
        view, _, _, truncated, info = env.step("Thought: t\nAction: back()\nSummary: s")
        png = base64.b64decode(info["final_state"]["final_screen"]["png"])
        with Image.open(io.BytesIO(png)) as kept, Image.open(io.BytesIO(view.seen.screenshot_png)) as seen:
            assert truncated and kept.size == (412, 915)
            assert ImageChops.difference(kept.convert("RGB"), seen.convert("RGB")).getbbox() is None


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_expert_solves_every_family_through_the_collector(spawn, tmp_path: Path) -> None:
    expert = spawn("environments/touch/expert/server.py", "--port", 0, stdout=subprocess.PIPE)
    expert_port = re.search(r":(\d+)/v1", expert.stdout.readline())[1]
    command = [sys.executable, "collection/run.py", "--env", "touch", "--action_space", "appagent", "--headless"]
    command += ["--api_base", f"http://127.0.0.1:{expert_port}/v1", "--api_model", "expert", "--max_iter", "24"]
    command += ["--judge", "oracle", "--env_seeds", "1", "--num_sessions", "4"]
    command += ["--output_dir", str(tmp_path), "--download_dir", str(tmp_path / "downloads")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for name in FAMILIES:
        trajectory = read_trajectory(tmp_path / f"tasktouch.{name}--1")
        assert trajectory.outcome.success, (name, trajectory.outcome, [step.reply for step in trajectory.steps])
        assert trajectory.provenance["viewport"] == [412, 915] and trajectory.provenance["touch"] is True


@pytest.mark.slow
@pytest.mark.parametrize(
    ("space", "families"),
    [
        ("autoui", ("clock-add", "mail-reply")),
        ("androidworld", ("contacts-phone", "settings-switch")),
        ("cogagent", ("contacts-delete", "calendar-add")),
    ],
)
def test_what_the_expert_does_by_numbers_is_done_at_points(space: str, families: tuple[str, ...]) -> None:
    """Each of its replies is rewritten for the screen that it is about, and carried out."""
    numbers, points = action_space("appagent"), action_space(space)
    with environments.make("touch", env_tasks=families, env_seeds=(2,), action_space=space, max_steps=24) as env:
        for task in env.tasks:
            view, reward, is_over, messages = env.reset(task), 0.0, False, []
            while not is_over:
                asked = (
                    "" if messages else f"Now given a task: {task.ques}  Please interact with x and get the answer. \n"
                )
                messages.append({"role": "user", "content": asked + view.seen.tree})
                messages.append({"role": "assistant", "content": reply(messages)})
                boxes = {label: node["union_bound"] for label, node in view.seen.nodes.items()}
                page = Page(view.seen.screen, boxes, view.seen.tree, task.web)
                said = translate(messages[-1]["content"], numbers, points, page)
                view, reward, terminated, truncated, _ = env.step(said)
                is_over = terminated or truncated
            assert reward == 1.0, (task.ques, messages)
