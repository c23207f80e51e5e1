"""What WebArena's `program_html` looks at, read from the live browser at the end of a trajectory.

The judge works on what is kept, so it can be run again without browser and sites. Task files name helper programs
(`func:reddit_get_post_url('__last_url__')`): those in the tables are known, anything else is refused, and no text of a
task file is ever run as Python. Locators are JavaScript of the task file and run in the task's own page.
"""

import ast
import re
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import urlsplit

from common.errors import UserError
from data.task import Task
from environments.browser.chromium.cdp import RefusedError
from environments.browser.page.page import Page
from environments.browser.page.settle import settle
from environments.webarena import magento

_CALL = re.compile(r"func:\s*(?P<name>\w+)\((?P<arguments>.*)\)\s*$", re.DOTALL)
_ROLE = """(name) => {
  const places = [...document.querySelectorAll("td[data-label='Account'] span.gl-avatar-labeled-sublabel")];
  const row = places.findIndex((place) => place.outerText === "@" + name);
  return document.querySelectorAll("td.col-max-role span")[row]?.outerText ?? "";
}"""


def check_programs(tasks: Sequence[Task]) -> None:
    """Raise UserError, before anything is collected, for a program that is not known or cannot be asked here."""
    for task in tasks:
        for target in task.truth.get("program_html") or []:
            if not (isinstance(target, dict) and all(isinstance(target.get(name), str) for name in ("url", "locator"))):
                raise UserError(f"task {task.id}: program_html holds {target!r}, which has no url and locator")
            for text, known in ((target["url"], _URL_PROGRAMS), (target["locator"].strip(), _CONTENT_PROGRAMS)):
                if not text.startswith("func:"):
                    continue
                name, _ = parse_call(text, task.id)
                if name in magento.PROGRAMS:
                    magento.check_login(task.id)
                elif name not in known:
                    raise UserError(f"task {task.id}: the program {name!r} of its ground truth is not known here")


async def read_final_pages(page: Page, task: Task) -> list[str]:
    """The content of each of the task's targets, in their order; "" where a locator finds nothing.

    Raises:
        UserError: the task file names a program that is not known here.
        PageError, BrowserError: a page could not be loaded; not the agent's fault.
    """
    last_url = await page.address()
    contents = []
    for target in task.truth["program_html"]:
        url = target["url"]
        if url.startswith("func:"):
            url = await ask(page, url, last_url, task.id)
        if url != "last":
            await page.goto(url)
            await settle(page)
        contents.append(await _read(page, target, task.id))
    return contents


async def ask(page: Page, call: str, last_url: str, task_id: str) -> str:
    """What a known program says: of the page, of the last address, or of the shop."""
    name, arguments = parse_call(call, task_id)
    if name in magento.PROGRAMS:
        magento.check_login(task_id)
        return await magento.PROGRAMS[name](*arguments)
    if name in _CONTENT_PROGRAMS:
        return str(await page.run(_ROLE, arguments[-1]))
    if name not in _URL_PROGRAMS:
        raise UserError(f"task {task_id}: the program {name!r} of its ground truth is not known here")
    return _URL_PROGRAMS[name](*(last_url if argument == "__last_url__" else argument for argument in arguments))


def parse_call(text: str, task_id: str) -> tuple[str, list[Any]]:
    """(name, literal arguments) of `func:name('...', __page__)`; nothing is evaluated."""
    match = _CALL.match(text)
    if match is None:
        raise UserError(f"task {task_id}: {text!r} is not a call of a program")
    source = re.sub(r"\b__page__\b", '"__page__"', match["arguments"])
    try:
        return match["name"], list(ast.literal_eval(f"({source},)") if source.strip() else ())
    except (ValueError, SyntaxError):
        raise UserError(f"task {task_id}: {text!r} has arguments that are no constants") from None


def reddit_post_url(url: str) -> str:
    """The post that an address within it (a comment, say) belongs to: /f/<forum>/<number>/."""
    parts = urlsplit(url)
    pieces = parts.path.split("/")
    if len(pieces) < 4 or pieces[1] != "f":
        return url
    return f"{parts.scheme}://{parts.netloc}/f/{pieces[2]}/{pieces[3]}/"


async def _read(page: Page, target: dict[str, Any], task_id: str) -> str:
    locator = target["locator"].strip()
    if locator.startswith("func:"):
        return await ask(page, locator, await page.address(), task_id)
    if not locator:
        return str(await page.run("() => document.documentElement.outerHTML"))
    if not locator.startswith(("document.", "[...document.")):
        raise UserError(f"task {task_id}: unknown locator {locator!r}")
    for action in target.get("prep_actions", []):
        await _quietly(page, f"() => {{ {action} }}")
    return str(await _quietly(page, f"() => {locator}") or "")


async def _quietly(page: Page, function: str) -> Any:
    """The value of a JavaScript function; None when it fails, because the page is another one."""
    try:
        return await page.run(function)
    except RefusedError:
        return None


_CONTENT_PROGRAMS = ("gitlab_get_project_memeber_role",)  # spelt so in WebArena
_URL_PROGRAMS: dict[str, Callable[..., str]] = {"reddit_get_post_url": reddit_post_url}
