"""Carry out an agent's action on a device: points are touched, a wheel is a swipe, keys are the system's."""

import asyncio
import functools

from data.action_spaces.androidworld import APP
from data.action_spaces.translate import SCROLLED
from data.actions.action import CANNOT_EXECUTE, ActionError, Answer, Click, Drag, GoBack, Restart, Scroll, Type, Wait
from data.actions.finger import scroll_by_finger
from data.actions.point_action import AnyAction, ClickAt, DragAt, GoTo, Press, ScrollAt, Write
from environments.android.device import AndroidDevice, has_keys
from environments.elements import box_of, center_of
from environments.environment import Observation
from environments.faults import PageError
from environments.touch.address import is_of_phone

WAIT_S = 2.0
LONG_PRESS_MS = 800
SWIPE_MS = 300


def failure(reason: str) -> ActionError:
    return ActionError(CANNOT_EXECUTE, reason)


async def act(device: AndroidDevice, action: AnyAction, seen: Observation) -> str:
    """A note for the agent, or "".

    Raises:
        ActionError: a touch screen knows no such action, or there is no such element.
        DeviceError: not the agent's fault.
    """
    return await _act(action, device, seen) or ""


@functools.singledispatch
async def _act(action: AnyAction, device: AndroidDevice, seen: Observation) -> str | None:
    raise failure(f"A touch screen knows no {type(action).__name__}.")


@_act.register
async def _(action: Answer, device: AndroidDevice, seen: Observation) -> None:
    return None


@_act.register
async def _(action: Wait, device: AndroidDevice, seen: Observation) -> None:
    await asyncio.sleep(WAIT_S)


@_act.register
async def _(action: GoBack, device: AndroidDevice, seen: Observation) -> None:
    await device.key("back")


@_act.register
async def _(action: Restart, device: AndroidDevice, seen: Observation) -> None:
    await device.key("home")


@_act.register
async def _(action: ClickAt, device: AndroidDevice, seen: Observation) -> None:
    if action.button == "middle":
        raise failure("A touch screen knows no middle button.")
    x, y = action.at.x, action.at.y
    if action.button == "right":  # what a long press opens stands for a context menu
        await _act(DragAt(action.at, action.at), device, seen)
        return
    for _ in range(action.count):
        await device.tap(x, y)


@_act.register
async def _(action: DragAt, device: AndroidDevice, seen: Observation) -> None:
    if action.start is None:
        raise failure("A swipe needs a point where it begins.")
    is_long_press = (action.start.x, action.start.y) == (action.end.x, action.end.y)
    ms = LONG_PRESS_MS if is_long_press else SWIPE_MS
    await device.swipe(action.start.x, action.start.y, action.end.x, action.end.y, ms)


@_act.register
async def _(action: ScrollAt, device: AndroidDevice, seen: Observation) -> None:
    await _act(scroll_by_finger(action.right, action.down, action.at, seen.screen.viewport), device, seen)


@_act.register
async def _(action: Press, device: AndroidDevice, seen: Observation) -> None:
    match action.keys:
        case ("Enter",):
            await device.key("enter")
        case ("Home",):
            await device.key("home")
        case ("Escape",):
            await device.key("back")
        case _:
            raise failure(f"A phone has no keys {' '.join(action.keys)}: only back, home and enter.")


@_act.register
async def _(action: GoTo, device: AndroidDevice, seen: Observation) -> None:
    if action.url.startswith(APP):
        return await _start(device, action.url.removeprefix(APP))
    if is_of_phone(action.url):  # it would begin anew
        raise failure("This address is the phone's own: open its apps from the home screen.")
    try:
        await device.view(action.url if "://" in action.url else f"https://{action.url}")
    except PageError as error:
        raise failure(f"{error}.") from None


@_act.register
async def _(action: Write, device: AndroidDevice, seen: Observation) -> None:
    await _check_typed(device, action.content)
    if action.at is not None:
        await device.tap(action.at.x, action.at.y)
    if action.replace:
        await _erase(device)
    await device.type(action.content)
    if action.enter:
        await device.key("enter")


@_act.register
async def _(action: Click, device: AndroidDevice, seen: Observation) -> None:
    at = center_of(seen, action.label)
    await device.tap(at.x, at.y)


@_act.register
async def _(action: Type, device: AndroidDevice, seen: Observation) -> None:
    await _act(Write(action.content, center_of(seen, action.label), replace=True, enter=True), device, seen)


@_act.register
async def _(action: Scroll, device: AndroidDevice, seen: Observation) -> None:
    at = None if action.label is None else center_of(seen, action.label)
    height = seen.screen.viewport[1] if action.label is None else box_of(seen, action.label)[3]
    await _act(ScrollAt(0, height * SCROLLED * (1 if action.direction == "down" else -1), at), device, seen)


@_act.register
async def _(action: Drag, device: AndroidDevice, seen: Observation) -> None:
    await _act(DragAt(center_of(seen, action.label), center_of(seen, action.target)), device, seen)


async def _start(device: AndroidDevice, name: str) -> None:
    """An app by its package, or by its name where a package ends in it: Clock is com.google.android.deskclock."""
    wanted, packages = name.lower().replace(" ", ""), await device.packages()
    found = [package for package in packages if package.lower().endswith(wanted)]
    if not wanted or not found:
        raise failure(f"There is no app {name[:40]!r}.")
    await device.start(min(found, key=len))


async def _check_typed(device: AndroidDevice, text: str) -> None:
    if not has_keys(text) and not await device.types_anything():
        raise failure("This device types letters without accents, digits and signs; nothing was typed.")


async def _erase(device: AndroidDevice) -> None:
    if not (elements := await device.tree()):
        raise failure("What stands in the field cannot be read while the screen moves; the text was not typed.")
    written = next((element.text for element in elements if element.is_focused and element.is_editable), "")
    if written and not await device.erase(len(written)):
        raise failure("What stands in the field cannot be replaced here; the text was not typed.")
