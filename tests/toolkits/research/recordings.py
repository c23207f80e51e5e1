"""Recordings of browsers: WebLINX and Playwright's traces."""

import json
import zipfile
from pathlib import Path
from typing import Any

from tests.toolkits.research.screens import TASK, pictures, png


def weblinx(folder: Path) -> list[str]:
    """A viewport of 400x200, which the screenshots show at half its size."""
    demo = folder / "demo"
    pictures(demo / "screenshots", "screenshot-1-0.png", "screenshot-2-0.png")
    for name, content in {
        "pages/page-1-0.html": "<body><a data-webtasks-id=u1>Blue lamp</a><p data-webtasks-id=u3>Text</p>"
        "<input data-webtasks-id=u2 placeholder=Search></body>",
        "pages/page-2-0.html": "<body><a data-webtasks-id=u1>Blue lamp</a></body>",
        "bboxes/bboxes-1.json": json.dumps(
            {
                "u1": {"x": 20, "y": 40, "width": 160, "height": 40, "top": 40},
                "u2": {"x": 200, "y": 40, "width": 100, "height": 40, "top": 40},
                "u3": {"x": 0, "y": 0, "width": 10, "height": 10, "top": 0},
                "below": {"x": 0, "y": 900, "width": 10, "height": 10, "top": 900},
            }
        ),
    }.items():
        (demo / name).parent.mkdir(exist_ok=True)
        (demo / name).write_text(content)

    def turn(intent: str, page: int, element: str = "", box: tuple[int, ...] = (), **arguments: Any) -> dict[str, Any]:
        sides = dict(zip(("x", "y", "width", "height"), box, strict=False))
        metadata = {"url": "http://shop.example/", "viewportWidth": 400, "viewportHeight": 200, "tabId": 1}
        if intent == "click":
            metadata |= {"mouseX": 100, "mouseY": 60}
        found = {"attributes": {"data-webtasks-id": element}, "bbox": sides, "tagName": "A", "textContent": "x"}
        state = {"screenshot": f"screenshot-{page}-0.png", "page": f"page-{page}-0.html", "screenshot_status": "good"}
        more = {"element": found} if element else {}
        action = {"intent": intent, "arguments": {"metadata": metadata, **more, **arguments}}
        return {"type": "browser", "timestamp": 1.0, "state": state, "action": action}

    turns = [
        {"type": "chat", "timestamp": 0.1, "speaker": "instructor", "utterance": TASK},
        {"type": "chat", "timestamp": 0.2, "speaker": "navigator", "utterance": "Sure."},
        turn("textInput", 1, "u2", (200, 40, 100, 40), text="blue lamp"),
        {"type": "chat", "timestamp": 2.0, "speaker": "instructor", "utterance": "The cheap one."},
        turn("click", 1, "u1", (20, 40, 160, 40)),
        turn("scroll", 2, scrollX=0, scrollY=300),
        turn("paste", 2, pasted="x"),
        turn("scroll", 2, scrollX=0, scrollY=100),
        turn("load", 2, properties={"url": "http://shop.example/", "transitionType": "link"}),
        turn("load", 2, properties={"url": "http://shop.example/lamp", "transitionType": "typed"}),
        turn("tabcreate", 2, properties={"tabId": 2}),
        {"type": "chat", "timestamp": 9.0, "speaker": "navigator", "utterance": "It costs 9.99."},
    ]
    (demo / "replay.json").write_text(json.dumps({"version": "1", "data": turns}))
    return ["demo"]


def playwright_trace(folder: Path) -> list[str]:
    """A viewport of 400x200 again, whose frames have half its size."""

    def call(number: int, method: str, **params: Any) -> dict[str, Any]:
        head = {"type": "before", "callId": f"call@{number}", "startTime": 100.0 * number, "class": "Frame"}
        return {**head, "method": method, "apiName": f"page.{method}", "params": params}

    def end(number: int, **more: Any) -> dict[str, Any]:
        return {"type": "after", "callId": f"call@{number}", "endTime": 100.0 * number + 5, **more}

    def frame(time: float, name: str) -> dict[str, Any]:
        size = {"width": 400, "height": 200}
        return {"type": "screencast-frame", "pageId": "p", "sha1": name, "timestamp": time, **size}

    viewport = {"viewport": {"width": 400, "height": 200}}
    events = [
        {"version": 7, "type": "context-options", "browserName": "chromium", "title": TASK, "options": viewport},
        call(1, "goto", url="http://shop.example/"),
        frame(150, "a.jpeg"),
        call(2, "click", selector="internal:role=textbox"),
        {"type": "input", "callId": "call@2", "point": {"x": 100, "y": 60}},
        end(2),
        frame(250, "b.jpeg"),
        call(3, "fill", selector="internal:role=textbox", value="blue lamp"),
        call(4, "press", selector="internal:role=textbox", key="Control+A"),
        call(5, "expect", selector="internal:text=lamp"),
        call(6, "fill", selector="#unknown", value="x"),
        call(7, "click", selector="#gone"),
        end(7, error={"message": "timeout"}),
        call(8, "dblclick", selector="#lamp", button="left"),
        end(8, point={"x": 20, "y": 180}),
        call(9, "mouseWheel", deltaX=0, deltaY=120),
        call(10, "goBack"),
    ]
    with zipfile.ZipFile(folder / "trace.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("0-trace.trace", "\n".join(map(json.dumps, events)))
        archive.writestr("0-trace.network", "{}")
        archive.writestr("../outside.txt", "never unpacked")
        for number, name in enumerate(("a.jpeg", "b.jpeg")):
            archive.writestr(f"resources/{name}", png(number, kind="JPEG"))
    return ["trace.zip"]
