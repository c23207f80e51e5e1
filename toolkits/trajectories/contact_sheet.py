"""Contact sheet: a trajectory in one picture, its screenshots in order, under each what was done and thought of it."""

import io
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw, ImageFont

from data.images import opened

WIDTH, HEIGHT, MARGIN, LINE = 320, 240, 12, 17
NUM_ACROSS = 4
SHOWN = ("value_1", "value_2", "instruction_value", "q_1", "q_2", "advantage", "weight", "share", "reward")
"""Columns that are shown, where there are any."""
_MOST_LINES = 7  # under a screenshot
_CHARACTERS = 44  # of a line under one


def contact_sheet(trace: dict[str, Any], screenshots: Sequence[Path]) -> bytes:
    """A PNG of what `make_traces.trace` gives, of at least one step."""
    across = min(NUM_ACROSS, len(screenshots))
    down = -(-len(screenshots) // across)
    said = [_lines(step) for step in trace["steps"]]
    width, height = across * (WIDTH + MARGIN) + MARGIN, HEIGHT + max(map(len, said)) * LINE + 2 * MARGIN
    outcome = " ".join(filter(None, [trace["outcome"] or "not judged", trace["reason"] and f"({trace['reason']})"]))
    title = textwrap.wrap(f"{trace['trajectory']}: {outcome}. {trace['task']}", width // 8)
    top = MARGIN + LINE * len(title) + MARGIN
    sheet = Image.new("RGB", (width, top + down * height), "white")
    draw, font = ImageDraw.Draw(sheet), ImageFont.load_default(13)
    draw.text((MARGIN, MARGIN), "\n".join(title), "black", font, spacing=4)
    for number, (lines, path) in enumerate(zip(said, screenshots, strict=True)):
        x, y = MARGIN + number % across * (WIDTH + MARGIN), top + number // across * height
        with opened(path) as picture:
            small = picture.convert("RGB")
            small.thumbnail((WIDTH, HEIGHT))
        sheet.paste(small, (x, y))
        draw.rectangle((x - 1, y - 1, x + small.width, y + small.height), outline="gray")
        draw.text((x, y + HEIGHT + 4), "\n".join(lines), "black", font, spacing=4)
    file = io.BytesIO()
    sheet.save(file, "PNG")
    return file.getvalue()


def _lines(step: dict[str, Any]) -> list[str]:
    numbers = [f"{name}={step['columns'][name]:.3g}" for name in SHOWN if name in step["columns"]]
    action = textwrap.shorten(f"{step['number']}. {step['action']}", 2 * _CHARACTERS, placeholder=" ...")
    said = [
        *textwrap.wrap(action, _CHARACTERS),
        *textwrap.wrap("  ".join(numbers), _CHARACTERS, break_on_hyphens=False),
    ]
    learned = [candidate["action"] for candidate in step["candidates"] if candidate["columns"].get("weight")]
    said += [textwrap.shorten(f"learned: {action}", _CHARACTERS, placeholder=" ...") for action in learned]
    return said[:_MOST_LINES]
