"""Actions at points and by keys, and what is true of them that a screenshot does not show.

Menus and file dialogs open outside of the page, in no screenshot: a click on one is answered by what it holds, and text
that is typed next chooses from it.
"""

import functools
from pathlib import Path
from typing import Any

from data.action import CANNOT_EXECUTE, ActionError
from data.point_action import ClickAt, DragAt, GoTo, HoverAt, PointAction, Press, ScrollAt, Write
from data.screen import Point
from environments.browser.cdp import Params
from environments.browser.frames import Frame
from environments.browser.keyboard import ENTER, chord, keystrokes
from environments.browser.keyboard import press as press_key
from environments.browser.page import Page, script
from environments.browser.pointer import click, drag, hover, place_of, wheel
from environments.browser.widgets import choose, give_file, list_files
from environments.faults import PageError

MAX_CHOICES = 30


@functools.singledispatch
async def act_at(action: PointAction, page: Page, upload_dir: Path | None) -> str:
    """What is to be told of it; ActionError where it cannot be done."""
    raise failure(f"{type(action).__name__} is not known here.")


def failure(reason: str) -> ActionError:
    return ActionError(CANNOT_EXECUTE, reason)


@act_at.register
async def _(action: ClickAt, page: Page, upload_dir: Path | None) -> str:
    node, found = await _at(page, action.at)
    if found is None:
        raise failure("There is nothing at this point.")
    name = _described(found)
    if found["disabled"]:
        raise failure(f"{name} is disabled.")
    page.chooser = None
    if action.button == "left" and (outside := _outside(found, upload_dir)):
        if found["type"] == "file":  # its dialog is caught; one behind a label is often hidden and takes no focus
            await click(page, _xy(action.at))
        else:
            await page.run_on(node, "function () { this.focus(); }")
        return f"{name} {outside}"
    await click(page, _xy(action.at), action.button, action.count)
    return f"Clicked {name}." if found["usable"] else f"Clicked {name}, which is no link, button or field."


def _outside(found: Params, upload_dir: Path | None) -> str:
    """What to say of an element that would open something outside of the page, "" of others."""
    if (choices := found["choices"]) is not None:
        more = f" and {len(choices) - MAX_CHOICES} more" if len(choices) > MAX_CHOICES else ""
        return f"is a menu; type one of its choices: {'; '.join(choices[:MAX_CHOICES])}{more}."
    if found["type"] == "file":
        return f"takes a file. {list_files(upload_dir)}"
    if found["type"] == "color":
        return "takes a color: type one, such as #ff8800."
    return ""


@act_at.register
async def _(action: HoverAt, page: Page, upload_dir: Path | None) -> str:
    _, found = await _at(page, action.at)
    await hover(page, _xy(action.at))
    return f"The mouse is on {_described(found)}." if found else ""


@act_at.register
async def _(action: DragAt, page: Page, upload_dir: Path | None) -> str:
    await drag(page, page.mouse if action.start is None else _xy(action.start), _xy(action.end))
    return ""


@act_at.register
async def _(action: Write, page: Page, upload_dir: Path | None) -> str:
    said = [] if action.at is None else [await act_at(ClickAt(action.at), page, upload_dir)]
    if page.chooser is not None:  # the last click, on a file input or what stands for it, asked for it
        asked, page.chooser = page.chooser, None
        return await give_file(page, asked, action.content, upload_dir)
    frame, focused = await _focused(page)
    if focused is None:
        raise failure("Nothing has the focus that text could go into: click a textbox first.")
    node, name = _node(frame), f"<{focused['tag']}>"
    if focused["tag"] == "select":
        await choose(page, node, action.content)
        return f"Chose {action.content!r}."
    if focused["type"] == "file":
        return await give_file(page, node, action.content, upload_dir)
    if focused["way"] is None:
        raise failure(f"The {name} that has the focus takes no text: click a textbox first.")
    await _write(page, frame, focused, action)
    reads = await page.run(script("typed.js"), frame=frame)
    said.append("Typed." if reads is None else f'The {name} reads "{reads}" now.')
    if action.enter:
        await page.send_all(press_key(ENTER))
    return " ".join(said)


async def _write(page: Page, frame: Frame, focused: Params, action: Write) -> None:
    if focused["way"] == "value":
        if not await page.run(script("set_value.js"), action.content, frame=frame):
            raise failure(f"This <input type={focused['type']}> does not take such a value.")
        return
    if action.replace:
        await page.run(script("focus.js"), frame=frame)  # selects what stands there
    if action.content or action.replace:
        await page.send_all(keystrokes(action.content, lines=focused["way"] == "lines"))


@act_at.register
async def _(action: Press, page: Page, upload_dir: Path | None) -> str:
    _, focused = await _focused(page)
    if focused and focused["tag"] == "select" and action.keys in (("Enter",), (" ",)):
        return "The menu stays closed: type one of its choices."
    await page.send_all(chord(action.keys))
    return ""


@act_at.register
async def _(action: ScrollAt, page: Page, upload_dir: Path | None) -> str:
    at = action.at or Point(page.viewport.width / 2, page.viewport.height / 2)
    node, found = await _at(page, at)
    if found is None:
        raise failure("There is nothing at this point.")
    before = await page.run_on(node, script("scrolled.js"), None)
    await wheel(page, _xy(at), action.right, action.down)
    after = await page.run_on(node, script("scrolled.js"), before)
    return "Nothing moved: it cannot be scrolled further that way." if after == before else ""


@act_at.register
async def _(action: GoTo, page: Page, upload_dir: Path | None) -> str:
    url = action.url if "://" in action.url else f"https://{action.url}"
    try:
        await page.goto(url)
    except PageError as error:
        raise failure(f"{error}.") from None
    return ""


async def _at(page: Page, at: Point) -> tuple[Params, Params | None]:
    """The innermost element at a point as a node, and what `at_point.js` says of it."""
    frame = page.frames.main
    found = await page.run(script("at_point.js"), at.x, at.y)
    while found and found["inner"]:
        for inner in page.frames:
            if inner.parent_id != frame.id:
                continue
            place = await place_of(page, inner)
            left, top, width, height = place.shown
            if left <= at.x < left + width and top <= at.y < top + height:
                frame = inner
                break
        else:
            break
        found = await page.run(script("at_point.js"), *place.inside(_xy(at)), frame=frame)
    return _node(frame), found


async def _focused(page: Page) -> tuple[Frame, Params | None]:
    """What has the focus, and its frame."""
    frame = page.frames.main
    found = await page.run(script("focused.js"))
    while found and found["inner"]:
        for inner in page.frames:
            if inner.parent_id == frame.id and (deeper := await page.run(script("focused.js"), frame=inner)):
                frame, found = inner, deeper
                break
        else:
            return frame, None
    return frame, found


def _node(frame: Frame) -> dict[str, Any]:
    """What `at_point.js` or `focused.js` remembered there."""
    return {"mark": 0, "frameId": frame.id}


def _described(found: Params) -> str:
    kind = f" type={found['type']}" if found["type"] else ""
    return f"<{found['tag']}{kind}>" + (f' "{found["label"]}"' if found["label"] else "")


def _xy(point: Point) -> tuple[float, float]:
    return point.x, point.y
