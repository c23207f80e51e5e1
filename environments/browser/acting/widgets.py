"""What is neither clicked nor typed into in the plain way: menus, sliders, file inputs."""

import math
import mimetypes
from collections.abc import Sequence
from pathlib import Path

from data.actions.action import CANNOT_EXECUTE, ActionError
from data.actions.keys import MODIFIERS
from environments.browser.acting import keyboard
from environments.browser.acting.aim import Aim, disarm, press
from environments.browser.acting.keyboard import ARROW_LEFT, ARROW_RIGHT
from environments.browser.acting.pointer import drag
from environments.browser.chromium.cdp import Params
from environments.browser.page.page import Page
from environments.browser.scripts import script

MAX_CHOICES = 30
_NOT_CHOSEN = {
    "none": "The menu has no such option.",
    "several": "Several options of the menu read so; type all of one.",
    "disabled": "The option is disabled.",
}
MAX_ACCEPT = 100  # characters
MAX_ARROWS = 200  # presses that move a slider; a longer way is dragged


async def choose(page: Page, node: Params, text: str | None) -> str:
    """Choose the option of a `<select>` that reads `text`, or the option `node` itself when None."""
    came = await page.run_on(node, script("choose.js"), text)
    if came["problem"]:
        raise ActionError(CANNOT_EXECUTE, _NOT_CHOSEN[came["problem"]])
    if not came["stays"]:
        return f"The page did not keep the choice. {_told(came['chosen'])}"
    return _told(came["chosen"]) if len(came["chosen"]) != 1 else ""


async def offer(page: Page, node: Params) -> str:
    """What a menu holds that opens outside of the page."""
    return told_choices(await page.run_on(node, script("choices.js")))


def told_choices(choices: Sequence[str]) -> str:
    """For a sentence."""
    return f"is a menu; type one of its choices: {_listed(choices, '; ')}."


async def choose_another(page: Page, node: Params, aimed: Aim) -> str:
    """Add an option of a list that takes several to those that are chosen, or take it away from them."""
    await press(page, node, aimed, modifiers=MODIFIERS["Control"])
    return await tell_chosen(page, node)


async def tell_chosen(page: Page, node: Params) -> str:
    """What is chosen in the list that an option lies in."""
    return _told(await page.run_on(node, script("chosen.js")))


def _told(chosen: Sequence[str]) -> str:
    return f"Chosen now: {_listed(chosen, ', ') or 'nothing'}."


def _listed(names: Sequence[str], between: str) -> str:
    more = f" and {len(names) - MAX_CHOICES} more" if len(names) > MAX_CHOICES else ""
    return between.join(names[:MAX_CHOICES]) + more


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


async def give_file(page: Page, node: Params, text: str, upload_dir: Path | None) -> str:
    """Put files of the task into a file input, by their names; several into one that takes several."""
    files, name = offered(upload_dir), text.strip()
    names = [name] if name in files else [part.strip() for part in name.replace("\n", ",").split(",") if part.strip()]
    if not names or any(name not in files for name in names):
        raise ActionError(CANNOT_EXECUTE, f"There is no such file. {list_files(upload_dir)}")
    takes = await page.run_on(
        node, "function () { return [this.multiple, this.accept, [...this.files].map(({name}) => name)] }"
    )
    multiple, accepted, before = takes
    if len(names) > 1 and not multiple:
        raise ActionError(CANNOT_EXECUTE, "This element takes one file. Nothing was chosen.")
    request = {"files": [str(files[name]) for name in names], "objectId": await page.resolve(node)}
    await page.send("DOM.setFileInputFiles", request, frame=page.frame_of(node))
    said = f"The file {names[0]} was chosen" if len(names) == 1 else f"The files {', '.join(names)} were chosen"
    replaced = [name for name in before if name not in names]
    said += f" in place of {_listed(replaced, ', ')}." if replaced else "."
    odd = [name for name in names if not _is_accepted(name, accepted)]
    return f"{said} The page asks for {accepted[:MAX_ACCEPT]}, which {odd[0]} is not." if odd else said


def _is_accepted(name: str, accepted: str) -> bool:
    """Whether a file is of the kinds that an `accept` lists: ".png", "image/*", "image/png"."""
    kind = mimetypes.guess_type(name)[0] or ""
    wanted = [one.strip().lower() for one in accepted.split(",") if one.strip()]
    return not wanted or any(
        name.lower().endswith(one) if one.startswith(".") else kind == one or kind.startswith(one.removesuffix("*"))
        for one in wanted
    )


def offered(upload_dir: Path | None) -> dict[str, Path]:
    """The files an agent may give to a page, by name."""
    if upload_dir is None:
        return {}
    return {path.name: path.resolve() for path in sorted(upload_dir.iterdir()) if path.is_file()}


def list_files(upload_dir: Path | None) -> str:
    """A sentence for the agent."""
    names = ", ".join(offered(upload_dir))
    return f"Type the name of one of these into it: {names}." if names else "There are no files to give to it."
