"""WebArena's and VisualWebArena's released runs (`render_<task>.html`, one a task), as trajectory folders.

A page begins with the task's configuration, one `name: value` a line, and has for each step the address, what was
observed, the screenshot and what the model said. Its ground truth becomes the task's, for `--judge webarena`.
"""

import ast
import base64
import binascii
import dataclasses
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from common.errors import UserError
from common.files import decode_text
from toolkits.readers.reading.folders import ForeignStep, ForeignTrajectory, Tries, write_folder

_LINE = re.compile(r"^(\w+): (.*)$", re.MULTILINE)
_STOP = re.compile(r"stop \[(.*)\]\s*(?:```)?\s*$", re.DOTALL)
_PARTS = ("url", "state_obv", "prev_action", "raw_parsed_prediction", "parsed_action")


def import_visualwebarena(path: Path, image_dir: Path, out_dir: Path, tries: Tries) -> None:
    """Write the folder of one page.

    Raises:
        UserError: naming the file.
    """
    page = _Page()
    try:
        page.feed(decode_text(path.read_bytes()))
    except (OSError, UnicodeDecodeError, AssertionError) as error:
        raise UserError(f"{path}: not a page of WebArena's ({type(error).__name__})") from None
    said = dict(_LINE.findall(page.opening))
    if not said.get("intent"):
        raise UserError(f"{path}: not a page of WebArena's: it does not begin with the task's configuration")
    steps = [_step(f"{path}: step {number}", parts) for number, parts in enumerate(page.steps, start=1)]
    web = said.get("start_url") or next((step.url for step in steps if step.url), "") or "unknown"
    task, run = tries.add("webarena", said["intent"], web.split(" |AND| ")[0])
    task = dataclasses.replace(task, eval=_truth(said.get("eval", "")))
    last = page.steps[-1] if page.steps else {}
    found = _STOP.search(last.get("parsed_action", "") or last.get("raw_parsed_prediction", ""))
    trajectory = ForeignTrajectory(task, run, "VisualWebArena", steps, found[1] if found else None)
    write_folder(str(path), out_dir, trajectory)


def _step(where: str, parts: dict[str, str]) -> ForeignStep:
    try:
        image = base64.b64decode(parts["image"], validate=True) if parts.get("image") else None
    except (binascii.Error, ValueError):
        raise UserError(f"{where}: its screenshot is no base64") from None
    reply = parts.get("raw_parsed_prediction") or parts.get("parsed_action", "")
    return ForeignStep(parts.get("state_obv", ""), reply, image, parts.get("url", "").removeprefix("URL:").strip())


def _truth(written: str) -> dict[str, Any] | None:
    """Python's repr of it, which holds nothing but literals."""
    try:
        found = ast.literal_eval(written)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    return found if isinstance(found, dict) and found.get("eval_types") else None


class _Page(HTMLParser):
    """The text of what stands before the first step, and of the parts of each step, by the names of their classes."""

    def __init__(self) -> None:
        super().__init__()
        self.opening = ""
        self.steps: list[dict[str, str]] = []
        self._part, self._tag = "", ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        kind = given.get("class") or ""
        if kind == "url":
            self.steps.append({})
        if kind in _PARTS and self.steps:
            self._part, self._tag = kind, tag
        elif tag == "img" and self.steps:
            self.steps[-1]["image"] = (given.get("src") or "").partition("base64,")[2]
        elif tag in ("div", "h2", "h3") and kind:
            self._part = ""

    def handle_endtag(self, tag: str) -> None:
        if tag == self._tag or (tag == "pre" and self._part == "state_obv"):
            self._part = ""

    def handle_data(self, data: str) -> None:
        if not self.steps:
            self.opening += data
        elif self._part:
            self.steps[-1][self._part] = self.steps[-1].get(self._part, "") + data
