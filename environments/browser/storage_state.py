"""Begin as somebody who is logged in: cookies and local storage from a file as Playwright writes it."""

from pathlib import Path
from typing import Any

import orjson

from common.errors import UserError
from common.files import read_json
from environments.browser.page import Page

_COOKIE_FIELDS = ("name", "value", "domain", "path", "httpOnly", "secure", "sameSite")

# Only what the site has not set itself by then: what the agent does there must stay.
_FILL = """((origins) => {
  for (const { origin, localStorage: items } of origins)
    if (origin === location.origin)
      for (const { name, value } of items) if (localStorage.getItem(name) === null) localStorage.setItem(name, value);
})(%s)"""


def read_storage_state(path: Path) -> dict[str, Any]:
    """`{"cookies": [...], "origins": [...]}`; UserError where the file is missing or something else."""
    state = read_json(path)
    if not isinstance(state, dict) or not isinstance(state.get("cookies"), list):
        raise UserError(f"{path}: no storage state; it would hold 'cookies' and 'origins', as Playwright writes it")
    return state


async def restore(page: Page, state: dict[str, Any]) -> None:
    """Give the page's context these cookies and local storage, before it opens anything."""
    cookies = []
    for cookie in state["cookies"]:
        fields = {name: cookie[name] for name in _COOKIE_FIELDS if name in cookie}
        lasting = {"expires": cookie["expires"]} if cookie.get("expires", -1) > 0 else {}
        cookies.append(fields | lasting)
    if cookies:
        send = page.browser.connection.send
        await send("Storage.setCookies", {"cookies": cookies, "browserContextId": page.context_id})
    if origins := [entry for entry in state.get("origins", []) if entry.get("localStorage")]:
        source = _FILL % orjson.dumps(origins).decode()
        await page.send("Page.addScriptToEvaluateOnNewDocument", {"source": source})
