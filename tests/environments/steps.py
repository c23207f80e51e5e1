"""Actions one after another on a page of the module's browser."""

from typing import Any

from data.actions.action import ActionError, Click, Type
from environments.browser.acting.actions import act
from environments.browser.observation.observe import observe
from tests.environments.conftest import OneBrowser
from tests.environments.website import find


def do(browser: OneBrowser, url: str, *steps: Any, **options: Any) -> tuple[str, str]:
    """The tree and the notes after these actions on the page; a step is an action or a function from a tree to one."""

    async def run() -> tuple[str, str]:
        async with browser.page(url) as page:
            notes = ""
            for step in steps:
                seen = await observe(page, "released")
                notes = await act(page, step(seen.tree) if callable(step) else step, seen, url, **options)
            return (await observe(page, "released")).tree, notes

    return browser.wait(run())


def click(name: str) -> Any:
    """Click what reads `name`."""
    return lambda tree: Click(int(find(tree, name)))


def write(name: str, text: str) -> Any:
    """Type into what reads `name`."""
    return lambda tree: Type(int(find(tree, name)), text)


def told(browser: OneBrowser, url: str, *steps: Any, **options: Any) -> list[str]:
    """What is said of each of these actions, done or not, on one page, and at the end what its title is."""

    async def run() -> list[str]:
        async with browser.page(url) as page:
            said = []
            for step in steps:
                seen = await observe(page, "complete")
                try:
                    said.append(await act(page, step(seen.tree) if callable(step) else step, seen, url, **options))
                except ActionError as error:
                    said.append(error.reason)
            return [*said, await page.run("() => document.title")]

    return browser.wait(run())
