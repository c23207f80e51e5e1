"""The seeds' step, written anew command by command: one chromedriver and Chrome per session, WebDriver for everything.

What is kept from OpenWebVoyager, WebVoyager and PAE: the order and number of commands, headless Chrome, PNG, a thread
per session. What is not: PAE's pool of at most 32 threads and its barrier, which would only slow it down, the two of
the three Chromes that its reset starts and forgets, and all fixed pauses except the one a caller asks for.
Sources: OpenWebVoyager's `run.py` (actions) and `utils_webarena.py` (two requests for each node of the tree), the
`utils.py` of WebVoyager and PAE (three requests for each mark), and PAE's `webgym.py` (threads, pauses).
"""

import base64
import contextlib
import os
import shutil
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from selenium.common.exceptions import WebDriverException
from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service

from environments.browser.chromium.launch import find_binary
from environments.browser.observation.frame_views import FrameView
from environments.browser.observation.layout import Region
from environments.browser.observation.tree import Document, build_tree

WINDOW = (1024, 768)
METRICS = ("pageYOffset", "pageXOffset", "screen.width", "screen.height", "devicePixelRatio")

MARK = """
const chosen = [...document.querySelectorAll("*")].map((element) => {
  const rects = [...element.getClientRects()].filter((box) => {
    const found = document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
    return found === element || element.contains(found);
  });
  const area = rects.reduce((sum, box) => sum + box.width * box.height, 0);
  const clickable = ["INPUT", "TEXTAREA", "SELECT", "BUTTON", "A", "IFRAME", "VIDEO", "LI", "TD", "OPTION"]
    .includes(element.tagName) || element.onclick !== null || getComputedStyle(element).cursor === "pointer";
  return { element, rects, area, clickable, text: element.textContent.trim().replace(/\\s{2,}/g, " ") };
}).filter((item) => item.clickable && item.area >= 20);
const inner = chosen.filter((item) => !chosen.some((other) => other !== item && item.element.contains(other.element)));
const marks = inner.flatMap((item, number) => item.rects.map((box) => {
  const mark = document.createElement("div");
  mark.style.cssText = `outline:2px dashed #000;position:fixed;pointer-events:none;z-index:2147483647;` +
    `left:${box.left}px;top:${box.top}px;width:${box.width}px;height:${box.height}px`;
  const label = document.createElement("span");
  label.style.cssText = "position:absolute;top:-19px;background:#000;color:#fff;padding:2px 4px;font-size:12px";
  label.textContent = number;
  mark.append(label);
  document.body.append(mark);
  return mark;
}));
return [marks, inner.map(({ element, text }) => ({ element, text }))];
"""


@dataclass(frozen=True)
class SeedsStep:
    """What one side does in a step. `pause_s` is the pause after a click; 0 leaves it out."""

    marks: bool
    tree: bool
    pause_s: float = 0.0


class SeedSession:
    """One session: a chromedriver and a Chrome of its own."""

    def __init__(self, url: str):
        options = ChromeOptions()
        options.binary_location = str(find_binary(headless=False))  # the seeds start Chrome itself with --headless
        for flag in ("--headless", "--force-device-scale-factor=1", "--disable-dev-shm-usage"):
            options.add_argument(flag)
        if os.geteuid() == 0:
            options.add_argument("--no-sandbox")
        self._folder = Path(tempfile.mkdtemp(prefix="seeds-"))
        service = Service(shutil.which("chromedriver"), env={**os.environ, "TMPDIR": str(self._folder)})
        self.driver = Chrome(options=options, service=service)
        self.driver.set_window_size(*WINDOW)
        self.driver.get(url)

    def close(self) -> None:
        with contextlib.suppress(WebDriverException):
            self.driver.quit()
        shutil.rmtree(self._folder, ignore_errors=True)

    def observe(self, how: SeedsStep) -> int:
        """What the model would be shown; returns how many elements it holds."""
        marks, elements = self._mark() if how.marks else ([], [])
        lines = self._read_tree() if how.tree else 0
        path = self._folder / "screenshot.png"
        self.driver.save_screenshot(str(path))
        base64.b64encode(path.read_bytes())
        for mark in marks:
            self.driver.execute_script("arguments[0].remove()", mark)
        return len(elements) + lines

    def step(self, how: SeedsStep) -> None:
        """Observe and click on to the next page."""
        self.observe(how)
        link = self.driver.execute_script(
            "const box = document.querySelector('#next').getBoundingClientRect();"
            "return document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2)"
        )
        self.driver.execute_script("arguments[0].setAttribute('target', '_self')", link)
        link.click()
        time.sleep(how.pause_s)

    def _mark(self) -> tuple[list, list]:
        marks, items = self.driver.execute_script(MARK)
        for item in items:  # a round trip each
            _ = item["element"].tag_name
            item["element"].get_attribute("type")
            item["element"].get_attribute("aria-label")
        return marks, items

    def _read_tree(self) -> int:
        cdp = self.driver.execute_cdp_cmd
        cdp("DOMSnapshot.captureSnapshot", {"computedStyles": [], "includeDOMRects": True, "includePaintOrder": True})
        for metric in METRICS:
            self.driver.execute_script(f"return window.{metric}")
        cdp("Accessibility.enable", {})
        nodes = cdp("Accessibility.getFullAXTree", {})["nodes"]
        boxes = {}
        for node in nodes:
            with contextlib.suppress(WebDriverException, KeyError):  # nodes without a box
                found = cdp("DOM.resolveNode", {"backendNodeId": node["backendDOMNodeId"]})
                function = """function() {
                    if (this.nodeType == 3) { var range = document.createRange(); range.selectNode(this);
                        return range.getBoundingClientRect().toJSON(); }
                    return this.getBoundingClientRect().toJSON(); }"""
                call = {"objectId": found["object"]["objectId"], "functionDeclaration": function, "returnByValue": True}
                box = cdp("Runtime.callFunctionOn", call)["result"]["value"]
                boxes[node["backendDOMNodeId"]] = (box["x"], box["y"], box["width"], box["height"])
        view = FrameView.of_window(*WINDOW)
        tree, _ = build_tree(Document(nodes, Region(view, boxes, set())), "released")
        return len(tree.splitlines())
