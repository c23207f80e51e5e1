"""Carry out one action of the agent on a page, with real mouse and keyboard events, and say what came of it."""

import contextlib
import functools
from typing import Any

from collection.browser.cdp import Params, RefusedError
from collection.browser.faults import PageError
from collection.browser.observe import Observation
from collection.browser.page import Page, script
from collection.browser.settle import settle
from collection.browser.tree import AXNode
from data.action import CANNOT_EXECUTE, Action, ActionError, Answer, Click, GoBack, Restart, Scroll, Type, Wait

INPUT_TIMEOUT_S = 10.0  # a page that does not even take a click hangs
WAIT_S = 2.0  # `Wait` on a page where nothing moves; what loads by itself was waited for before

_ENTER = {"key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13, "text": "\r"}


async def act(page: Page, action: Action, seen: Observation, start_url: str) -> str:
    """Act and let the page settle. Returns notes: truths about the action a chat model may read next, or "".

    `Restart` goes to the task's own start page; the seeds went to a web search, which a task on one site cannot use.

    Raises:
        ActionError: the action could not be carried out; its message is the feedback.
        BrowserError, PageError: not the agent's fault.
    """
    if isinstance(action, Answer):
        return ""
    notes = None
    with contextlib.suppress(ActionError, RefusedError):  # refused: the node is gone
        notes = await _carry_out(action, page, seen, start_url)
    await settle(page)  # also after a failure: its first half, a click, may have moved the page
    await _fold_new_tabs(page)
    if notes is None:
        raise ActionError(CANNOT_EXECUTE)
    return " ".join([*notes, *page.take_messages()])


@functools.singledispatch
async def _carry_out(action: Action, page: Page, seen: Observation, start_url: str) -> list[str]:
    """Notes; ActionError when it cannot be done."""
    raise TypeError(f"no such action: {action!r}")


@_carry_out.register
async def _(action: Click, page: Page, seen: Observation, start_url: str) -> list[str]:
    node = _node(seen, action.label)
    place = await _locate(page, node)
    if place["tag"] == "select":  # its menu is drawn outside the page; the options are in the tree
        return ["The options of this menu are listed below it: click one, or type its text into the menu."]
    if place["tag"] == "option" and not place["listbox"]:
        return await _choose(page, node, None)
    await _click(page, place)
    return []


@_carry_out.register
async def _(action: Type, page: Page, seen: Observation, start_url: str) -> list[str]:
    node = _node(seen, action.label)
    place = await _locate(page, node)
    if place["tag"] == "select":
        return await _choose(page, node, action.content)
    await _click(page, place)
    way = await page.run(script("focus.js"))
    if way is None or (way == "value" and not await page.run(script("set_value.js"), action.content)):
        raise ActionError(CANNOT_EXECUTE)
    if way != "value":
        await page.send_all(_keystrokes(action.content, lines=way == "lines"))
    await page.send_all(_press(_ENTER))
    if place["tag"] not in ("input", "textarea"):
        return [f"The element you typed into is a <{place['tag']}>; the text went to the textbox it stands for."]
    return []


@_carry_out.register
async def _(action: Scroll, page: Page, seen: Observation, start_url: str) -> list[str]:
    if action.label is None:
        moved = await page.run(script("scroll.js"), action.direction)
    else:
        node = _node(seen, action.label)
        moved = await page.run_on(node["backendDOMNodeId"], script("scroll.js"), action.direction)
    return [] if moved else [f"Nothing moved: it cannot be scrolled further {action.direction}."]


@_carry_out.register
async def _(action: Wait, page: Page, seen: Observation, start_url: str) -> list[str]:
    with contextlib.suppress(RefusedError):  # a new document is a change too
        await page.run(script("change.js"), round(WAIT_S * 1000))
    return []


@_carry_out.register
async def _(action: GoBack, page: Page, seen: Observation, start_url: str) -> list[str]:
    history = await page.send("Page.getNavigationHistory")
    before = history["entries"][: history["currentIndex"]]
    if not before or before[-1]["url"] == "about:blank":  # the blank page the tab began with
        raise ActionError(CANNOT_EXECUTE)
    await page.send("Page.navigateToHistoryEntry", {"entryId": before[-1]["id"]})
    return []


@_carry_out.register
async def _(action: Restart, page: Page, seen: Observation, start_url: str) -> list[str]:
    await page.goto(start_url)
    return []


def _node(seen: Observation, label: int) -> AXNode:
    if label not in seen.nodes:
        raise ActionError(CANNOT_EXECUTE)
    return seen.nodes[label]


async def _locate(page: Page, node: AXNode) -> dict[str, Any]:
    place = await page.run_on(node["backendDOMNodeId"], script("locate.js"))
    if place is None or place["disabled"]:
        raise ActionError(CANNOT_EXECUTE)
    return place


async def _click(page: Page, place: dict[str, Any]) -> None:
    at = {"x": place["x"], "y": place["y"], "button": "left", "clickCount": 1}
    await page.send_all(
        [
            ("Input.dispatchMouseEvent", {"type": "mouseMoved", "x": place["x"], "y": place["y"]}),
            ("Input.dispatchMouseEvent", {"type": "mousePressed", **at}),
            ("Input.dispatchMouseEvent", {"type": "mouseReleased", **at}),
        ],
        INPUT_TIMEOUT_S,
    )


async def _choose(page: Page, node: AXNode, text: str | None) -> list[str]:
    if not await page.run_on(node["backendDOMNodeId"], script("choose.js"), text):
        raise ActionError(CANNOT_EXECUTE)
    return []


def _keystrokes(text: str, lines: bool) -> list[tuple[str, Params]]:
    """Key events of every character; an empty text only deletes the selection. Without `lines` a break is a space."""
    if not text:
        return _press({"key": "Delete", "code": "Delete", "windowsVirtualKeyCode": 46})
    presses = []
    for character in text:
        if character == "\n" and lines:
            presses += _press(_ENTER)
        else:
            presses += _press({"key": character, "text": " " if character.isspace() else character})
    return presses


def _press(key: Params) -> list[tuple[str, Params]]:
    down = {"type": "keyDown" if "text" in key else "rawKeyDown", **key}
    up = {name: value for name, value in key.items() if name != "text"}
    return [("Input.dispatchKeyEvent", down), ("Input.dispatchKeyEvent", {"type": "keyUp", **up})]


async def _fold_new_tabs(page: Page) -> None:
    """One tab only: what opened in a new one is loaded in ours instead."""
    while page.new_tabs:
        url = page.new_tabs[-1]
        page.new_tabs.clear()
        targets = (await page.browser.connection.send("Target.getTargets"))["targetInfos"]
        for target in targets:
            if target.get("browserContextId") == page.context_id and target["targetId"] != page.target_id:
                url = url or target["url"]  # opened blank, then sent somewhere by a script
                await page.browser.connection.send("Target.closeTarget", {"targetId": target["targetId"]})
        if url not in ("", "about:blank"):
            with contextlib.suppress(PageError):  # the tab shows the browser's error page, as a tab of its own would
                await page.goto(url)
            await settle(page)
