"""Scroll: the window, which stands for what a person would scroll in it, or what is around an element."""

import asyncio

from environments.browser.acting.pointer import wheel
from environments.browser.chromium.cdp import Params
from environments.browser.page.frames import Frame
from environments.browser.page.page import Page
from environments.browser.scripts import script

_REMEMBERED = -1  # where `scroll.js` keeps the frame it names
_WHEEL_TURNS = 10
_WHEEL_PAUSE_S = 0.05


async def scroll(page: Page, node: Params | None, direction: str) -> bool:
    """Scroll by two thirds of what shows; False: not further. RefusedError: the node is gone.

    Args:
        node: what to scroll in; None for the window. Where nothing around it scrolls, the window does.
    """
    while node is not None:
        said = await page.run_on(node, script("scroll.js"), direction, False)
        if said != "nothing":
            return said == "moved"
        node = await _owner(page, page.frame_of(node))
    return await _scroll_window(page, page.frames.main, direction)


async def _scroll_window(page: Page, frame: Frame, direction: str) -> bool:
    said = await page.run(script("scroll.js"), direction, False, frame=frame)
    if said == "frame":
        inner = await _remembered_frame(page, frame)
        if inner is not None and await _scroll_window(page, inner, direction):
            return True
        said = await page.run(script("scroll.js"), direction, True, frame=frame)
    if said == "nothing" and frame is page.frames.main:
        return await _turn_wheel(page, direction)
    return said == "moved"


async def _turn_wheel(page: Page, direction: str) -> bool:
    """For pages that scroll by scripts of their own, where nothing scrolls by itself."""
    width, height = page.viewport.width, page.viewport.height
    before = await page.run(script("places.js"))
    if before is None:  # a field lies under the mouse: the wheel would change its value
        return False
    await wheel(page, (width / 2, height / 2), 0, height * 2 / 3 * (1 if direction == "down" else -1))
    for _ in range(_WHEEL_TURNS):
        await asyncio.sleep(_WHEEL_PAUSE_S)
        if await page.run(script("places.js")) != before:
            return True
    return False


async def _owner(page: Page, frame: Frame) -> Params | None:
    """The `<iframe>` that shows a frame; None for the main one."""
    parent = page.frames.get(frame.parent_id)
    if parent is None:
        return None
    owner = await page.send("DOM.getFrameOwner", {"frameId": frame.id}, frame=parent)
    return {"backendDOMNodeId": owner["backendNodeId"], "frameId": parent.id}


async def _remembered_frame(page: Page, frame: Frame) -> Frame | None:
    element = await page.resolve({"mark": _REMEMBERED, "frameId": frame.id})
    node = (await page.send("DOM.describeNode", {"objectId": element}, frame=frame))["node"]
    return page.frames.get(node.get("frameId", ""))
