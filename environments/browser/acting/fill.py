"""Text into a field: proven that it has the focus, typed or set by value, and what came of it.

Between the press, the text and ENTER the page is given the time that a person's hands give it, by `settle`'s rules.
"""

from dataclasses import dataclass

from common.shown.cut_text import cut_middle
from data.actions.action import ActionError
from environments.browser.acting.aim import Aim, disarm, failure, guard_others, quietly, told
from environments.browser.acting.aim import press as press_mouse
from environments.browser.acting.keyboard import ENTER, keystrokes, press
from environments.browser.acting.values import convert, format_of
from environments.browser.chromium.cdp import Params, RefusedError
from environments.browser.page.page import Page
from environments.browser.page.settle import settle
from environments.browser.scripts import script

_CALLED = {"range": "slider", "color": "color field"}
FOCUS_QUIET_S = 0.15  # from the mouse to the keys
MAX_READ = 500  # characters of what the page makes of a text, or says of it
ENTER_QUIET_S = 0.6  # before ENTER a person looks at what the text brought: suggestions come after a pause of their own


@dataclass(frozen=True)
class Focus:
    """What has the focus in a frame, as `focus.js` says."""

    way: str | None
    tag: str
    type: str
    fits: bool
    is_other: bool
    name: str


async def reach(page: Page, node: Params, aimed: Aim, text: str) -> bool:
    """Press the node that text is meant for, unless it cannot take the text, which is told before anything is done;
    whether it was pressed, as what a press would set only gets the focus."""
    if format_of(aimed.type) and convert(aimed.type, text) is None:
        await disarm(page)
        raise _unfit(aimed.type)
    if aimed.takes_none:
        await disarm(page)
        raise failure(
            f"Text cannot be typed into this element: it is a <{aimed.tag}> that takes none. Nothing was done."
        )
    if aimed.type in ("color", "range"):  # a press sets it, or opens a dialog of the browser
        await disarm(page)
        await page.run_on(node, "function () { this.focus(); }")
        return False
    await press_mouse(page, node, aimed)
    await settle(page, FOCUS_QUIET_S)
    return True


def _unfit(kind: str) -> ActionError:
    return failure(f"This <input type={kind}> takes {format_of(kind)}. Nothing was typed.")


async def focus(page: Page, node: Params, replaces: bool = True) -> Focus:
    """The field that text meant for the node goes into; keys reach it alone from now on.

    Raises:
        ActionError: something else has the focus, or no text goes into what has it.
    """
    found = await _focus(page, node, replaces)
    if not (found.fits and found.way):  # a script of the page may still be about to give it
        await settle(page)
        found = await _focus(page, node, replaces)
    if not found.tag:
        raise failure("Text cannot be typed into this element: it does not take the focus. Nothing was typed.")
    if not found.fits:
        raise failure(f"Nothing was typed: {found.name} has the focus, not the element you chose.")
    if found.way is None:
        raise failure(f"Text cannot be typed into this element: {found.name} takes none.")
    return found


async def _focus(page: Page, node: Params, replaces: bool) -> Focus:
    return Focus(**await page.run_on(node, script("focus.js"), replaces))


async def write(page: Page, node: Params, field: Focus, text: str, replaces: bool = True, called: str = "") -> str:
    """Put the text into the field that `focus` found. Returns what is to be told of it, or "".

    Args:
        replaces: whether it takes the place of what stands there.
        called: what to call the field, whose text is told then in any case, not only where it differs.

    Raises:
        ActionError: the field does not take such a text; says what it takes.
    """
    frame = page.frame_of(node)
    value = convert(field.type, text) if format_of(field.type) and replaces else text
    if value is None:
        await disarm(page)
        raise _unfit(field.type)
    if field.way == "value":
        await disarm(page)
        if not await page.run(script("set_value.js"), value, frame=frame):
            raise failure(f"This <input type={field.type}> does not take {value!r}; it takes {format_of(field.type)}.")
    else:
        keys = keystrokes(value, lines=field.way == "lines") if value or replaces else []
        await guard_others(page, frame, "keys")
        await page.send_all(keys)
    blocked = (await disarm(page, frame))["blocked"]
    read = await page.run(script("typed.js"), frame=frame)
    said = []
    if blocked is not None:
        said.append(f"Typing stopped: {blocked} took the focus.")
    if read and (called or read["reads"] != " ".join(text.split())):
        said.append(
            f'The {called or _CALLED.get(field.type, "textbox")} reads "{cut_middle(read["reads"], MAX_READ)}" now.'
        )
    if read and read["problem"]:
        said.append(f'The browser says of it: "{cut_middle(read["problem"], MAX_READ)}".')
    return " ".join(said)


async def enter(page: Page, node: Params) -> str:
    """Press ENTER in the field that was typed into, when the page has taken the text in. Returns a note on what kept it
    from being pressed or what the field reads since, which a suggestion or a check of the page may have changed, or "".
    """
    await settle(page, ENTER_QUIET_S)
    if page.closed:
        return ""
    try:
        frame = page.frame_of(node)
        lost = await page.run(script("refocus.js"), frame=frame)
        before = await page.run(script("typed.js"), frame=frame)
    except RefusedError:
        return "ENTER was not pressed: the page has moved on."
    if lost:
        return f"ENTER was not pressed: {lost}."
    await guard_others(page, frame, "keys")
    await page.send_all(press(ENTER))
    refused = told(await disarm(page, frame))
    after = None if page.activity.navigating else await quietly(page, frame, script("typed.js"))
    if before is None or after is None or after["reads"] == before["reads"]:
        return refused
    return f'{refused} After ENTER it reads "{cut_middle(after["reads"], MAX_READ)}".'.lstrip()
