"""An action hits what was chosen or does nothing: the one way from a chosen node to the mouse, for every action.

`aim` brings the element into view and finds a point of it that nothing covers. `press` sends the mouse there, while the
guard (`guard.js`) proves in the page that the press reaches the element: what would reach another one is swallowed.
"""

import asyncio
from dataclasses import dataclass
from typing import Any

from data.actions.action import CANNOT_EXECUTE, ActionError
from environments.browser.acting import pointer
from environments.browser.chromium.cdp import Params, RefusedError
from environments.browser.observation.frame_place import place_of
from environments.browser.observation.frame_views import FRAME_TIMEOUT_S
from environments.browser.observation.projection import Point
from environments.browser.page.frames import Frame
from environments.browser.page.page import Page
from environments.browser.scripts import script
from environments.faults import BrowserError

TRIES = 3  # of a press on what moves
_WAYS = ("first", "center", "start", "end")  # to scroll, in the order they are tried
# After which a frame that nothing was chosen in lets events pass, were it never released.
OTHERS_MS = 30_000
_ARM = "(kind, untilMs) => { elcano.guard.arm(kind, () => false, null, untilMs) }"
_TAKE = "() => elcano.guard.take()"


@dataclass(frozen=True)
class Aim:
    """A point of the window at which the element lies free, and what `aim.js` says of it.

    Args:
        pressed: whether the last press was on it.
        into_frame: whether a frame lies at the point.
        takes_none: whether it neither takes text nor may bring a textbox.
        link: where the link leads that it is or lies in.
        changed: what it reads, where that does not seem to be the name it was observed with.
    """

    at: Point
    tag: str
    type: str
    listbox: bool
    multiple: bool
    disabled: bool
    slider: bool
    pressed: bool
    into_frame: bool
    takes_none: bool
    link: str
    changed: str | None


class GoneError(ActionError):
    """The node is not on the page any more."""

    def __init__(self) -> None:
        super().__init__(CANNOT_EXECUTE, "The element is not on the page any more.")


def failure(reason: str) -> ActionError:
    return ActionError(CANNOT_EXECUTE, reason)


async def aim(page: Page, node: Params, rests: bool = False) -> Aim:
    """Where to press the node, which has a `name` if it was observed. `rests` waits until it does not move any more.

    Raises:
        ActionError: it is disabled, or no point of it can be brought into view; says what covers it.
        GoneError, RefusedError: it is gone.
    """
    frame, name = page.frame_of(node), str(node.get("name", {}).get("value", ""))
    is_main = frame is page.frames.main
    find = _aim_in_window(page, node, rests, name) if is_main else _aim_inside(page, node, frame, rests, name)
    (found, points), _ = await asyncio.gather(find, guard_others(page, frame, "press"))  # which takes as long
    if found is None:
        raise GoneError
    if not (found.pop("arms") and points):
        await disarm(page)
    covered, takes_clicks = found.pop("covered"), found.pop("takes_clicks")
    del found["points"]
    if found["disabled"]:
        raise failure("The element is disabled.")
    if not points:
        raise failure(_why(covered, takes_clicks))
    return Aim(points[0], **found)


async def _aim_in_window(page: Page, node: Params, rests: bool, name: str) -> tuple[Params | None, list[Point]]:
    """What `aim.js` says of a node of the main frame, and its points."""
    found = await page.run_on(node, script("aim.js"), None, None, rests, name)
    return found, [(point["x"], point["y"]) for point in found["points"]] if found else []


async def _aim_inside(
    page: Page, node: Params, frame: Frame, rests: bool, name: str
) -> tuple[Params | None, list[Point]]:
    """The same in a frame: it is asked again after each way to scroll, which moves the frames around it too."""
    found: Params | None = None
    hidden = ""
    for way in (None, *_WAYS):
        if way is not None and await page.run_on(node, script("aim.js"), [0, 0, 0, 0], way, False, name) is None:
            return None, []
        place = await place_of(page, frame)
        found = await page.run_on(node, script("aim.js"), place.visible, None, rests, name)
        if found is None:
            return None, []
        local = [(point["x"], point["y"]) for point in found["points"]]
        if points := await place.free(page, local):
            return found, points
        hidden = hidden or ("what lies over its frame" if local else "")
    if found is not None and found["covered"] is None and hidden:
        found["covered"] = hidden
    return found, []


def _why(covered: str | None, takes_clicks: bool) -> str:
    if not takes_clicks:
        return "The element takes no clicks; nothing was done."
    if covered is not None:
        return f"Something else covers the element: {covered}; nothing was done."
    return "No part of the element can be brought into view; nothing was done."


async def press(page: Page, node: Params, aimed: Aim, button: str = "left", count: int = 1, modifiers: int = 0) -> str:
    """Click the node where `aim` found it, again where it moved away meanwhile; the note is `told`.

    Raises:
        ActionError: something else lay there each time; it saw nothing of the press.
    """
    blocked: str | None = None
    for turn in range(TRIES):
        frame = page.frame_of(node)
        if aimed.into_frame:
            await release_others(page, frame)
        await pointer.click(page, aimed.at, button, count, modifiers)
        came = await disarm(page, frame)
        if (blocked := came["blocked"]) is None:
            return told(came)
        if turn < TRIES - 1:
            try:
                aimed = await aim(page, node, rests=True)
            except GoneError:
                break
            if aimed.changed is not None:
                await disarm(page)
                raise failure(f'The element reads "{aimed.changed}" by now; nothing was done.')
    raise failure(f"The element moved away: {blocked} lies there now; nothing was done.")


def told(came: dict[str, Any]) -> str:
    """A note on what the page moved while it was pressed, and on a form that the browser did not send, or ""."""
    said = []
    if came["strayed"]:
        said.append(f"While it was pressed, {came['strayed']} came to lie there; that was not clicked.")
    if came["refused"]:
        said.append(f"The form was not sent. The browser says of {came['refused']}")
    return " ".join(said)


async def drag(page: Page, start: tuple[Params, Aim], end: tuple[Params, Aim]) -> str:
    """Drag one node onto another, both aimed at before and proven to lie free at once. Returns a note or "".

    Raises:
        ActionError: they cannot be shown at once, read otherwise by now, or something else lay where the drag began.
    """
    (source, first_taken), (target, first_onto) = start, end
    onto, taken = await aim(page, target), await aim(page, source)
    onto_again, taken_again = await aim(page, target), await aim(page, source)
    if (onto.at, taken.at) != (onto_again.at, taken_again.at):
        await disarm(page)
        raise failure("The two elements cannot be shown at once, or do not rest; nothing was done.")
    for now, before in ((taken_again, first_taken), (onto_again, first_onto)):
        if now.changed != before.changed:
            await disarm(page)
            raise failure(f'The element reads "{now.changed}" by now; nothing was done.')
    frame, end_frame = page.frame_of(source), page.frame_of(target)
    index = 0 if frame is end_frame else 1  # of the two that were aimed at last in a frame
    await page.run("(index) => { elcano.guard.letDrop(elcano.aims[index]) }", index, frame=end_frame)
    await pointer.drag(page, taken.at, onto.at)
    came = await disarm(page)
    if came["blocked"] is not None:
        raise failure(f"The element moved away: {came['blocked']} lies there now; nothing was done.")
    return told(came)


async def guard_others(page: Page, frame: Frame, kind: str) -> None:
    """In the frames but this one no press, or key, is let through."""
    others = [other for other in page.frames if other.id != frame.id]
    await asyncio.gather(*(quietly(page, other, _ARM, kind, OTHERS_MS) for other in others))


async def release_others(page: Page, frame: Frame) -> None:
    """The other way round."""
    others = [other for other in page.frames if other.id != frame.id]
    await asyncio.gather(*(quietly(page, other, _TAKE) for other in others))


async def disarm(page: Page, frame: Frame | None = None) -> dict[str, Any]:
    """What came of the press or the keys: whether they `reached` what was chosen; what was `blocked`, what came there
    later (`strayed`), and for which field the browser `refused` to send a form, or None. Other frames than this one
    are asked only if nothing came in it.
    """
    first = [page.frames.get(frame.id) or page.frames.main] if frame else []
    taken = [outcome for one in first if (outcome := await quietly(page, one, _TAKE))]
    if not any(outcome["reached"] or outcome["blocked"] for outcome in taken):
        rest = [other for other in page.frames if other not in first]
        taken += [one for one in await asyncio.gather(*(quietly(page, other, _TAKE) for other in rest)) if one]
    elif len(list(page.frames)) > 1:
        page.later(release_others(page, first[0]))
    came = {
        kind: next((outcome[kind] for outcome in taken if outcome[kind] is not None), None)
        for kind in ("blocked", "strayed", "refused")
    }
    return {"reached": any(outcome["reached"] for outcome in taken), **came}


async def quietly(page: Page, frame: Frame, function: str, *arguments: Any) -> Any:
    """None where the frame is gone, has another document by now, or hangs."""
    try:
        return await page.run(function, *arguments, timeout_s=FRAME_TIMEOUT_S, frame=frame)
    except RefusedError:
        return None
    except BrowserError:
        if frame is page.frames.main and not page.activity.navigating:
            raise
        return None
