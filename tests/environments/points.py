"""Actions at points one after another on a page of the module's browser, in Qwen's words where it has them."""

from collections.abc import Callable
from typing import Any

from data.action_spaces import action_space
from data.actions.point_action import AnyAction, ClickAt, GoTo
from data.actions.screen import Point
from data.task import Task
from environments.browser.config import BrowserConfig
from environments.browser.environment import BrowserEnvironment
from environments.environment import Observation, respond
from tests.environments.conftest import OneBrowser
from tests.environments.website import find

SPACE = action_space("qwen_computer_use")
Step = AnyAction | Callable[[Observation], AnyAction]


def at(seen: Observation, name: str) -> Point:
    """The center of what reads `name`."""
    left, top, width, height = seen.nodes[int(find(seen.tree, name))]["union_bound"]
    return Point(left + width / 2, top + height / 2)


def click(name: str) -> Callable[[Observation], AnyAction]:
    return lambda seen: ClickAt(at(seen, name))


def do(browser: OneBrowser, url: str, *steps: Step, **options: Any) -> list[tuple[Observation, str]]:
    """What is seen after each of these steps, and what was said of it."""

    async def run() -> list[tuple[Observation, str]]:
        async with browser.fleet.page(0, browser.downloads) as page:
            environment, found = BrowserEnvironment(page, BrowserConfig(**options)), []
            await environment.reset(task(url))
            seen = await environment.observe()
            for step in steps:
                action = step(seen) if callable(step) else step
                space = action_space("openwebrl") if isinstance(action, GoTo) else SPACE
                reply = space.render("I see.", [action], seen.screen)
                said = (await respond(environment, reply, seen, space)).feedback
                seen = await environment.observe()
                found.append((seen, said))
            return found

    return browser.wait(run())


def task(url: str) -> Task:
    return Task("T--1", "Do it.", url)
