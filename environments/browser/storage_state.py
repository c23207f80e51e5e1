"""Begin as somebody who is logged in: cookies and local storage from a file as Playwright writes it."""

import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson

from common.errors import UserError
from common.files import parse_json
from data.task import Task
from environments.browser.page.page import Page

MAX_BYTES = 4 << 20  # a login is some KB
_COOKIE_FIELDS = ("name", "value", "domain", "path", "httpOnly", "secure", "sameSite")

# Only what the site has not set itself by then: what the agent does there must stay.
_FILL = """((origins) => {
  for (const { origin, localStorage: items } of origins)
    if (origin === location.origin)
      for (const { name, value } of items) if (localStorage.getItem(name) === null) localStorage.setItem(name, value);
})(%s)"""


def check_storage_states(tasks: Sequence[Task]) -> None:
    """Raise UserError, before anything is collected, for a file that no task can begin with; each is read once."""
    for name, task in {task.storage_state: task for task in reversed(tasks) if task.storage_state}.items():
        try:
            read_storage_state(Path(name))
        except UserError as error:
            raise UserError(f"task {task.id}: its storage_state {error}") from None


def read_storage_state(path: Path) -> dict[str, Any]:
    """`{"cookies": [...], "origins": [...]}`; UserError where the file is missing or something else.

    A task file from elsewhere may name anything: a device that never ends, a pipe to which nobody writes.
    """
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise UserError(f"{path}: not a regular file; give the JSON file that Playwright wrote")
        with open(path, "rb") as file:
            content = file.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            raise UserError(f"{path}: more than {MAX_BYTES >> 20} MB; give the JSON file that Playwright wrote")
        state = parse_json(content)
    except UserError:
        raise
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or f"not valid JSON ({error})"
        raise UserError(f"{path}: {why}; give the JSON file that Playwright wrote") from None
    if not isinstance(state, dict) or not _is_list_of_objects(state.get("cookies")):
        raise UserError(f"{path}: no storage state; it would hold 'cookies' and 'origins', as Playwright writes it")
    if not _is_list_of_objects(state.get("origins", [])):
        raise UserError(f"{path}: its 'origins' are no list of objects, as Playwright writes them")
    return state


def _is_list_of_objects(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(entry, dict) for entry in value)


async def restore(page: Page, state: dict[str, Any]) -> None:
    """Give the page's context these cookies and local storage, before it opens anything."""
    cookies = []
    for cookie in state["cookies"]:
        fields = {name: cookie[name] for name in _COOKIE_FIELDS if name in cookie}
        lasting = {"expires": cookie["expires"]} if cookie.get("expires", -1) > 0 else {}
        cookies.append(fields | lasting)
    if cookies:
        send = page.browser.connection.send
        await send("Storage.setCookies", {"cookies": cookies, "browserContextId": page.context.id})
    if origins := [entry for entry in state.get("origins", []) if entry.get("localStorage")]:
        source = _FILL % orjson.dumps(origins).decode()
        await page.send("Page.addScriptToEvaluateOnNewDocument", {"source": source})
