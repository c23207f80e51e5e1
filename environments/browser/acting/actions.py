"""Carry out one action of the agent on a page, with real mouse and keyboard events, and say what came of it."""

import contextlib
import functools
from dataclasses import dataclass
from pathlib import Path

from data.actions.action import (
    CANNOT_EXECUTE,
    Action,
    ActionError,
    Answer,
    Click,
    Drag,
    GoBack,
    Restart,
    Scroll,
    Type,
    Wait,
)
from data.actions.point_action import AnyAction, PointAction
from environments.browser.acting.aim import TRIES, Aim, GoneError, aim, disarm, drag, failure, press
from environments.browser.acting.at_points import act_at
from environments.browser.acting.effects import where_it_leads
from environments.browser.acting.fill import enter, focus, reach, write
from environments.browser.acting.find_again import find_again
from environments.browser.acting.history import go_back
from environments.browser.acting.scrolling import scroll
from environments.browser.acting.widgets import choose, choose_another, give_file, list_files, offer, slide
from environments.browser.chromium.cdp import RefusedError
from environments.browser.observation.tree import AXNode
from environments.browser.page.page import Page
from environments.browser.page.settle import settle
from environments.browser.scripts import script
from environments.environment import Observation

WAIT_S = 2.0  # `Wait` on a page where nothing moves; what loads by itself was waited for before


@dataclass(frozen=True)
class Scene:
    """What an action refers to: the observation whose labels it uses, where `Restart` leads, files for file inputs."""

    seen: Observation
    start_url: str
    upload_dir: Path | None = None


async def act(page: Page, action: AnyAction, seen: Observation, start_url: str, upload_dir: Path | None = None) -> str:
    """Act and let the page settle. Returns notes: truths about the action a chat model may read next, or "".

    `Restart` goes to `start_url`, by default the task's own start page; the seeds went to a web search, which a task on
    one site cannot use. `upload_dir` holds the files that may be given to file inputs.

    Raises:
        ActionError: the action could not be carried out; its message is the feedback.
        BrowserError, PageError: not the agent's fault.
    """
    if isinstance(action, Answer):
        return ""
    note, failure = "", None
    page.touch()
    try:
        if isinstance(action, PointAction):
            note = await act_at(action, page, upload_dir)
        else:
            note = await _carry_out(action, page, Scene(seen, start_url, upload_dir))
    except ActionError as error:
        failure = error
    except RefusedError:
        if not page.closed:  # a button may close its tab while it is pressed
            failure = ActionError(CANNOT_EXECUTE, "The element is gone.")
    await settle(page)  # also after a failure: its first half, a click, may have moved the page
    moved = await _moved(page, seen.url) if isinstance(action, PointAction) and not page.closed else ""
    notes = " ".join(filter(None, [note, *page.take_messages(), moved, _still_loading(page)]))
    if failure is not None:
        raise ActionError(str(failure), " ".join(filter(None, [failure.reason, notes])))
    return notes


async def _moved(page: Page, before: str) -> str:
    """What a screenshot does not tell: where the tab is."""
    address = await page.address()
    return "" if address == before else f"The tab is at {address} now."


def _still_loading(page: Page) -> str:
    return "The page is still loading." if page.activity.loading else ""


@functools.singledispatch
async def _carry_out(action: Action, page: Page, scene: Scene) -> str:
    """A note or ""; ActionError when it cannot be done."""
    raise TypeError(f"no such action: {action!r}")


@_carry_out.register
async def _(action: Click, page: Page, scene: Scene) -> str:
    node, aimed = await _aim(page, scene, action.label)
    if aimed.tag == "select" and not aimed.listbox and "mark" in node:  # its menu is drawn outside the page
        return f"This {await offer(page, node)}"
    if aimed.tag == "select" and not aimed.listbox:
        return "The options of this menu are listed below it: click one, or type its text into the menu."
    if aimed.tag == "option" and not aimed.listbox:
        return await choose(page, node, None)
    if aimed.type == "file":  # its dialog is no part of the page either
        return f"This element takes a file. {list_files(scene.upload_dir)}"
    page.chooser = None
    if aimed.tag == "option" and aimed.multiple:
        return await choose_another(page, node, aimed)
    note = await press(page, node, aimed)
    return " ".join(filter(None, [note, where_it_leads(aimed.link)]))


@_carry_out.register
async def _(action: Type, page: Page, scene: Scene) -> str:
    node, aimed = await _aim(page, scene, action.label)
    if aimed.tag == "select":
        return await choose(page, node, action.content)
    if aimed.type == "file":
        return await give_file(page, node, action.content, scene.upload_dir)
    if page.chooser is not None and aimed.pressed:  # a button that stands for a hidden file input: the last click's
        asked, page.chooser = page.chooser, None
        await disarm(page)
        return await give_file(page, asked, action.content, scene.upload_dir)
    if aimed.slider:
        return await slide(page, node, aimed, action.content)
    return await _type(page, node, aimed, action.content)


async def _type(page: Page, node: AXNode, aimed: Aim, text: str) -> str:
    was_pressed = await reach(page, node, aimed, text)
    try:
        field = await focus(page, node)
    except ActionError as error:  # what was pressed may have done something
        raise failure(f"{error.reason}{' The element was pressed.' * was_pressed}") from None
    notes = [await write(page, node, field, text), await enter(page, node)]
    if field.is_other and aimed.tag not in ("input", "textarea"):
        notes.append(f"The element you typed into is a <{aimed.tag}>; the text went to the textbox it stands for.")
    return " ".join(filter(None, notes))


@_carry_out.register
async def _(action: Scroll, page: Page, scene: Scene) -> str:
    node = None if action.label is None else _node(scene, action.label)
    moved = await scroll(page, node, action.direction)
    return "" if moved else f"Nothing moved: it cannot be scrolled further {action.direction}."


@_carry_out.register
async def _(action: Drag, page: Page, scene: Scene) -> str:
    end, start = await _aim(page, scene, action.target), await _aim(page, scene, action.label)
    return await drag(page, start, end)


@_carry_out.register
async def _(action: Wait, page: Page, scene: Scene) -> str:
    with contextlib.suppress(RefusedError):  # a new document is a change too
        await page.run(script("change.js"), round(WAIT_S * 1000))
    return ""


@_carry_out.register
async def _(action: GoBack, page: Page, scene: Scene) -> str:
    return await go_back(page)


@_carry_out.register
async def _(action: Restart, page: Page, scene: Scene) -> str:
    await page.goto(scene.start_url)
    return ""


def _node(scene: Scene, label: int) -> AXNode:
    if label not in scene.seen.nodes:
        raise ActionError(CANNOT_EXECUTE, f"There is no element with the number {label}.")
    return scene.seen.nodes[label]


async def _aim(page: Page, scene: Scene, label: int) -> tuple[AXNode, Aim]:
    """The node with this label, found again where the page was drawn anew or its node shows something else, and a point
    of it."""
    node, shown = _node(scene, label), ""
    alike = [other for other in scene.seen.nodes.values() if other["role"] == node["role"] and other is not node]
    names = {" ".join(str(other["name"]["value"]).split())[:40] for other in alike}
    for _ in range(TRIES):
        with contextlib.suppress(GoneError, RefusedError):
            aimed = await aim(page, node)
            if aimed.changed is None or (aimed.changed == shown and shown not in names):
                return node, aimed
            shown = aimed.changed
        if page.closed or (again := await find_again(page, scene.seen, label)) is None:
            break
        if again.get("backendDOMNodeId") != node.get("backendDOMNodeId"):
            shown = ""
        node = again
    await disarm(page)
    if shown and not page.closed:
        raise failure(f'The element reads "{shown}" by now; nothing was done.')
    raise GoneError
