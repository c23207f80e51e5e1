"""What is neither clicked nor typed into in the plain way: menus, sliders, file inputs."""

import math
from collections.abc import Sequence
from pathlib import Path

from data.action import CANNOT_EXECUTE, ActionError
from data.keys import MODIFIERS
from environments.browser.acting import keyboard
from environments.browser.acting.aim import Aim, disarm, press
from environments.browser.acting.keyboard import ARROW_LEFT, ARROW_RIGHT
from environments.browser.acting.pointer import drag
from environments.browser.chromium.cdp import Params
from environments.browser.page.page import Page
from environments.browser.scripts import script

MAX_CHOICES = 30
MAX_ARROWS = 200  # presses that move a slider; a longer way is dragged


async def choose(page: Page, node: Params, text: str | None) -> str:
    """Choose the option of a `<select>` that reads `text`, or the option `node` itself when None."""
    if (chosen := await page.run_on(node, script("choose.js"), text)) is None:
        raise ActionError(CANNOT_EXECUTE, "The menu has no such option." if text else "The option is disabled.")
    return _told(chosen) if len(chosen) != 1 else ""


async def offer(page: Page, node: Params) -> str:
    """What a menu holds that opens outside of the page."""
    return told_choices(await page.run_on(node, script("choices.js")))


def told_choices(choices: Sequence[str]) -> str:
    """For a sentence."""
    more = f" and {len(choices) - MAX_CHOICES} more" if len(choices) > MAX_CHOICES else ""
    return f"is a menu; type one of its choices: {'; '.join(choices[:MAX_CHOICES])}{more}."


async def choose_another(page: Page, node: Params, aimed: Aim) -> str:
    """Add an option of a list that takes several to those that are chosen, or take it away from them."""
    await press(page, node, aimed, modifiers=MODIFIERS["Control"])
    return await tell_chosen(page, node)


async def tell_chosen(page: Page, node: Params) -> str:
    """What is chosen in the list that an option lies in."""
    return _told(await page.run_on(node, script("chosen.js")))


def _told(chosen: Sequence[str]) -> str:
    return f"Chosen now: {', '.join(chosen) or 'nothing'}."


async def slide(page: Page, node: Params, aimed: Aim, text: str) -> str:
    """Set a slider that is made of elements: by the arrow keys, or by dragging where these do nothing."""
    try:
        wanted = float(text)
    except ValueError:
        wanted = math.nan
    if math.isnan(wanted):
        raise ActionError(CANNOT_EXECUTE, "A slider takes a number.")
    before = await _read_slider(page, node)
    wanted = min(max(wanted, before["min"]), before["max"])
    arrow = ARROW_RIGHT if wanted > before["now"] else ARROW_LEFT
    now = before["now"]
    if now != wanted:
        await page.send_all(keyboard.press(arrow))
        now = (await _read_slider(page, node))["now"]
    if step := abs(now - before["now"]):
        presses = round(min(MAX_ARROWS, abs(wanted - now) / step))
        if presses:
            await page.send_all(keyboard.press(arrow) * presses)
    elif now != wanted and before["max"] > before["min"]:
        await _drag_thumb(page, aimed, before, wanted)
    await disarm(page)
    now = (await _read_slider(page, node))["now"]
    return f"The slider stands at {now:g} now."


async def _read_slider(page: Page, node: Params) -> Params:
    """Numbers come from the page, which may say anything; None stands for what JSON cannot hold."""
    slider = await page.run_on(node, script("slider.js"))
    if None in (slider["now"], slider["min"], slider["max"]):
        raise ActionError(CANNOT_EXECUTE, "The slider does not say where it stands.")
    return slider


async def _drag_thumb(page: Page, aimed: Aim, slider: Params, wanted: float) -> None:
    """The way in pixels is that of the value along the rail, which is taken to be the thumb's parent."""
    share = (wanted - slider["now"]) / (slider["max"] - slider["min"])
    _, _, width, height = slider["rail"]
    x, y = aimed.at
    end = (x + share * width, y) if width >= height else (x, y - share * height)
    await drag(page, aimed.at, end)


async def give_file(page: Page, node: Params, name: str, upload_dir: Path | None) -> str:
    """Put a file of the task into a file input, by its name."""
    files = offered(upload_dir)
    if name.strip() not in files:
        raise ActionError(CANNOT_EXECUTE, f"There is no such file. {list_files(upload_dir)}")
    request = {"files": [str(files[name.strip()])], "objectId": await page.resolve(node)}
    await page.send("DOM.setFileInputFiles", request, frame=page.frame_of(node))
    return f"The file {name.strip()} was chosen."


def offered(upload_dir: Path | None) -> dict[str, Path]:
    """The files an agent may give to a page, by name."""
    if upload_dir is None:
        return {}
    return {path.name: path.resolve() for path in sorted(upload_dir.iterdir()) if path.is_file()}


def list_files(upload_dir: Path | None) -> str:
    """A sentence for the agent."""
    names = ", ".join(offered(upload_dir))
    return f"Type the name of one of these into it: {names}." if names else "There are no files to give to it."
