"""Actions at points and by keys, and what is true of them that a screenshot does not show.

Menus and file dialogs open outside of the page, in no screenshot: a click on one is answered by what it holds, and text
that is typed next chooses from it.
"""

import functools
from pathlib import Path
from typing import Any

from data.actions.action import ActionError
from data.actions.point_action import ClickAt, DragAt, GoTo, HoverAt, PointAction, Press, ScrollAt, Write
from data.actions.screen import Point
from environments.browser.acting.aim import disarm, failure, guard_others, told
from environments.browser.acting.effects import where_it_leads
from environments.browser.acting.fill import FOCUS_QUIET_S, enter, focus, write
from environments.browser.acting.keyboard import chord
from environments.browser.acting.pointer import click, drag, hover, wheel
from environments.browser.acting.widgets import choose, give_file, list_files, tell_chosen, told_choices
from environments.browser.chromium.cdp import Params, RefusedError
from environments.browser.observation.frame_place import place_of
from environments.browser.page.frames import Frame
from environments.browser.page.page import Page
from environments.browser.page.settle import settle
from environments.browser.scripts import script
from environments.faults import PageError

_POINTED, _FOCUSED = -2, -3  # where `at_point.js` and `focused.js` keep what they found


@functools.singledispatch
async def act_at(action: PointAction, page: Page, upload_dir: Path | None) -> str:
    """What is to be told of it; ActionError where it cannot be done."""
    raise failure(f"{type(action).__name__} is not known here.")


@act_at.register
async def _(action: ClickAt, page: Page, upload_dir: Path | None) -> str:
    return (await _click(action, page, upload_dir))[1]


async def _click(action: ClickAt, page: Page, upload_dir: Path | None) -> tuple[Params, str]:
    """What was clicked, and what is to be told of it."""
    node, found = await _at(page, action.at, arms=True)
    if found is None:
        raise failure("There is nothing at this point.")
    name = _described(found)
    if found["disabled"]:
        await disarm(page)
        raise failure(f"{name} is disabled.")
    page.chooser = None
    page.meant = node if found["takes_text"] else None
    if action.button == "left" and (outside := _outside(found, upload_dir)):
        if found["type"] == "file":  # its dialog is caught; one behind a label is often hidden and takes no focus
            await _press(page, node, action)
        else:
            await disarm(page)
            await page.run_on(node, "function () { this.focus(); }")
        return node, f"{name} {outside}"
    strays = await _press(page, node, action)
    said = [f"Clicked {name}." if found["usable"] else f"Clicked {name}, which is no link, button or field."]
    if found["listed"]:
        said.append(await tell_chosen(page, node))
    return node, " ".join(filter(None, [*said, strays, where_it_leads(found["link"])]))


async def _press(page: Page, node: Params, action: ClickAt) -> str:
    """What is told to be clicked is what the press reaches. Returns a note or ""."""
    frame = page.frame_of(node)
    await guard_others(page, frame, "press")
    await click(page, _xy(action.at), action.button, action.count)
    came = await disarm(page, frame)
    if came["blocked"] is not None:
        raise failure(f"What lay at this point changed: {came['blocked']} lies there now; nothing was done.")
    return told(came)


def _outside(found: Params, upload_dir: Path | None) -> str:
    """What to say of an element that would open something outside of the page, "" of others."""
    if (choices := found["choices"]) is not None:
        return told_choices(choices)
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
    page.meant = None
    await drag(page, page.mouse if action.start is None else _xy(action.start), _xy(action.end))
    return ""


@act_at.register
async def _(action: Write, page: Page, upload_dir: Path | None) -> str:
    clicked, node = "", page.meant
    if action.at is not None:
        node, clicked = await _click(ClickAt(action.at), page, upload_dir)
        await settle(page, FOCUS_QUIET_S)
    try:
        return " ".join(filter(None, [clicked, await _write(action, node, page, upload_dir)]))
    except ActionError as error:
        raise failure(" ".join(filter(None, [clicked, error.reason]))) from None
    except RefusedError:
        if page.closed or not clicked:
            raise
        raise failure(f"{clicked} It is gone since.") from None


async def _write(action: Write, node: Params | None, page: Page, upload_dir: Path | None) -> str:
    """Into what has the focus, which must be the node, if one was clicked."""
    if page.chooser is not None:  # the last click, on a file input or what stands for it, asked for it
        asked, page.chooser = page.chooser, None
        return await give_file(page, asked, action.content, upload_dir)
    frame, focused = await _focused(page)
    if focused is None:
        raise failure("Nothing has the focus that text could go into: click a textbox first.")
    own = _node(frame, _FOCUSED)
    if focused["tag"] == "select" or focused["type"] == "file":
        return await _pick(page, own, focused, action, upload_dir)
    field = await focus(page, node or own, action.replace)
    said = await write(page, node or own, field, action.content, action.replace, f"<{field.tag}>") or "Typed."
    return " ".join(filter(None, [said, await enter(page, node or own) if action.enter else ""]))


async def _pick(page: Page, node: Params, focused: Params, action: Write, upload_dir: Path | None) -> str:
    """Text for a menu or a file input that has the focus."""
    if focused["tag"] == "select":
        return f"Chose {action.content!r}. {await choose(page, node, action.content)}".rstrip()
    return await give_file(page, node, action.content, upload_dir)


@act_at.register
async def _(action: Press, page: Page, upload_dir: Path | None) -> str:
    _, focused = await _focused(page)
    page.meant = None
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


async def _at(page: Page, at: Point, arms: bool = False) -> tuple[Params, Params | None]:
    """The innermost element at a point as a node, and what `at_point.js` says of it."""
    frame = page.frames.main
    found = await _ask(page, frame, _xy(at), arms)
    while found and found["inner"]:
        for inner in page.frames:
            if inner.parent_id != frame.id:
                continue
            place = await place_of(page, inner)
            left, top, width, height = place.shown
            is_near = left <= at.x < left + width and top <= at.y < top + height
            if is_near and await place.free(page, [place.inside(_xy(at))]):  # turned frames overlap each other's boxes
                frame = inner
                break
        else:
            break
        found = await _ask(page, frame, place.inside(_xy(at)), arms)
    return _node(frame, _POINTED), found


async def _ask(page: Page, frame: Frame, at: tuple[float, float], arms: bool) -> Params | None:
    found = await page.run(script("at_point.js"), *at, arms, frame=frame)
    while found and found["hides"] and await _reveal(page, _node(frame, _POINTED)):
        found = await page.run(script("at_point.js"), *at, arms, frame=frame)
    return found


async def _reveal(page: Page, host: Params) -> bool:
    """Make the closed shadow root of an element known to our scripts; False where it has none."""
    frame = page.frame_of(host)
    request = {"objectId": await page.resolve(host), "depth": 0, "pierce": True}
    roots = (await page.send("DOM.describeNode", request, frame=frame))["node"].get("shadowRoots", [])
    for root in roots:
        if root.get("shadowRootType") == "closed":
            node = {"backendDOMNodeId": root["backendNodeId"], "frameId": frame.id}
            await page.run_on(node, "function () { elcano.closed.set(this.host, this); }")
            return True
    return False


async def _focused(page: Page) -> tuple[Frame, Params | None]:
    """What has the focus, and its frame."""
    frame = page.frames.main
    found = await page.run(script("focused.js"))
    while found and (found["inner"] or found["hides"]):
        if found["hides"]:
            if not await _reveal(page, _node(frame, _FOCUSED)):
                break
            found = await page.run(script("focused.js"), frame=frame)
            continue
        for inner in page.frames:
            if inner.parent_id == frame.id and (deeper := await page.run(script("focused.js"), frame=inner)):
                frame, found = inner, deeper
                break
        else:
            return frame, None
    return frame, found


def _node(frame: Frame, mark: int) -> dict[str, Any]:
    """What `at_point.js` or `focused.js` remembered there."""
    return {"mark": mark, "frameId": frame.id}


def _described(found: Params) -> str:
    kind = f" type={found['type']}" if found["type"] else ""
    return f"<{found['tag']}{kind}>" + (f' "{found["label"]}"' if found["label"] else "")


def _xy(point: Point) -> tuple[float, float]:
    return point.x, point.y
