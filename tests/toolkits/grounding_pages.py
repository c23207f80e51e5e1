"""A grounding set of our own pages in ScreenSpot's layout: buttons with texts and with icons, drawn by the browser."""

import base64
import json
import random
import tempfile
from pathlib import Path

from environments.browser.config import BrowserConfig
from environments.browser.environment import BrowserEnvironment
from environments.browser.fleet import Fleet
from environments.browser.page.page import Viewport

PLATFORMS = {"web": Viewport(320, 200, 1.0), "mobile": Viewport(200, 320, 1.0)}
_TEXTS = ("Basket", "Search", "Log in", "Help", "Menu", "Sort")
_ICONS = {"star": "★", "cross": "✖", "heart": "♥", "arrow": "➜", "note": "♪", "sun": "☀"}
_DRAW = """(named) => {
    const buttons = named.map(([label, left, top]) => {
        const button = document.createElement("button");
        button.textContent = label;
        Object.assign(button.style, {position: "fixed", left: `${left}px`, top: `${top}px`});
        return button;
    });
    document.body.replaceChildren(...buttons);
    return buttons.map((button) => {
        const box = button.getBoundingClientRect();
        return [box.left, box.top, box.width, box.height];
    });
}"""


async def draw(folder: Path, num_pages: int, seed: int = 0) -> list[Path]:
    """`screenspot_web.json` and `screenspot_mobile.json` with their screenshots; two questions a page, a text and an
    icon."""
    files = []
    for platform, viewport in PLATFORMS.items():
        generator, records = random.Random(f"{platform} {seed}"), []
        with tempfile.TemporaryDirectory() as downloads:
            async with Fleet(1, headless=True, viewport=viewport) as fleet, fleet.page(0, Path(downloads)) as page:
                for number in range(num_pages):
                    asked = _buttons(generator, viewport)
                    places = [(label, left, top) for _, _, label, left, top in asked]
                    boxes = await page.run(_DRAW, places)
                    seen = await BrowserEnvironment(page, BrowserConfig(viewport=viewport)).observe()
                    name = f"{platform}_{number}.png"
                    (folder / name).write_bytes(base64.b64decode(seen.screenshot_base64))
                    for (kind, ques, *_), box in zip(asked, boxes, strict=True):
                        told = {"instruction": ques, "data_type": kind, "data_source": "ours"}
                        records.append({"img_filename": name, "bbox": box, **told})
        files.append(folder / f"screenspot_{platform}.json")
        files[-1].write_text(json.dumps(records))
    return files


def _buttons(generator: random.Random, viewport: Viewport) -> list[tuple[str, str, str, int, int]]:
    """(kind, what is asked, label, left, top) of one text above one icon, or below."""
    text, (name, icon) = generator.choice(_TEXTS), generator.choice(list(_ICONS.items()))
    tops = [generator.randrange(viewport.height // 2 - 30), viewport.height // 2 + generator.randrange(60)]
    generator.shuffle(tops)
    lefts = [generator.randrange(viewport.width - 80) for _ in tops]
    return [("text", text, text, lefts[0], tops[0]), ("icon", f"the {name}", icon, lefts[1], tops[1])]
