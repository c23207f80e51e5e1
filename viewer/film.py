"""Film: a trajectory as a GIF, a frame a step: the page with the acted element marked, below it thought and action."""

import io
import re
import textwrap
from typing import Any

from PIL import Image, ImageDraw, ImageFont

from common.errors import UserError
from data.images import opened
from viewer.answers import Answers
from viewer.catalog.heads import shortened

_WIDTH, _MARGIN, _LINE = 720, 10, 19
_CHARACTERS = 100  # of a line
_COLORS = 64
_MAX_FRAMES = 60
_STEP_MS, _LAST_MS = 2500, 5000
_ACTED = "#c2006b"
_TURNS = re.compile("[\u202a-\u202e\u2066-\u2069]")
"""They turn the words around them, ours too, so they are told by number."""


def film(answers: Answers, found: dict[str, Any]) -> bytes:
    """A GIF of what `read_detail` gives; `UserError` where there is no step."""
    steps = found["steps"][:_MAX_FRAMES]
    captions = [_caption(found, step) for step in steps]
    most = max(map(len, captions), default=0)
    frames = [_frame(_page(answers, found, step), caption, most) for step, caption in zip(steps, captions, strict=True)]
    if not frames:
        raise UserError("no step was written, so there is nothing to show")
    file = io.BytesIO()
    durations = [_STEP_MS] * (len(frames) - 1) + [_LAST_MS]
    frames[0].save(file, "GIF", save_all=True, append_images=frames[1:], duration=durations, loop=0)
    return file.getvalue()


def _caption(found: dict[str, Any], step: dict[str, Any]) -> list[tuple[str, str]]:
    """(line, its color) of what stands below a page; below the last one also what came of it all."""
    judged = next((one for one in found["verdicts"] if one), None)
    verdict = judged["verdict"] if judged else found["status"] or "unfinished"
    texts = [(f"{step['number']}/{len(found['steps'])} ({verdict})  {found['ques']}", "#4d585c", 1)]
    texts += [(f"Thought: {step['thought']}", "#1c2326", 3), (f"Action: {step['action']}", _ACTED, 2)]
    if step is found["steps"][-1]:
        reason = (judged["reason"] if judged else "") or found["reason"]
        texts.append(
            (
                f"{(judged['judge'] or 'a judge') if judged else 'It ended'}: {verdict}{reason and f'; {reason}'}",
                "#1c2326",
                2,
            )
        )
    lines: list[tuple[str, str]] = []
    for text, color, most in texts:
        plain = _TURNS.sub(lambda turn: f"\\u{ord(turn[0]):x}", shortened(text, 1000))
        lines += [(line, color) for line in textwrap.wrap(plain, _CHARACTERS)[:most]]
    return lines


def _frame(page: Image.Image, caption: list[tuple[str, str]], most_lines: int) -> Image.Image:
    top = round(_WIDTH * 3 / 4)
    frame = Image.new("RGB", (_WIDTH, top + most_lines * _LINE + _MARGIN), "white")
    frame.paste(page, ((_WIDTH - page.width) // 2, 0))
    draw, font = ImageDraw.Draw(frame), ImageFont.load_default(14)
    for at, (line, color) in enumerate(caption):
        draw.text((_MARGIN, top + _MARGIN // 2 + at * _LINE), line, color, font)
    return frame.quantize(_COLORS)


def _page(answers: Answers, found: dict[str, Any], step: dict[str, Any]) -> Image.Image:
    """The screenshot in its frame, or a gray one where there is none."""
    size = (_WIDTH, round(_WIDTH * 3 / 4))
    given = {"set": found["set"], "name": found["name"], "number": str(step["number"])}
    try:
        with opened(io.BytesIO(answers.screenshot(given))) as image:
            page = image.convert("RGB")
            width, height = found["viewport"] or page.size
            page.thumbnail(size)
            _mark(page, step, page.width / width, page.height / height)
    except UserError:
        return Image.new("RGB", size, "#dfe5e6")
    return page


def _mark(page: Image.Image, step: dict[str, Any], across: float, down: float) -> None:
    """Draw the acted elements, whose boxes are in pixels of the viewport, and points, which are shares of the page."""
    draw = ImageDraw.Draw(page)
    for left, top, wide, high in (step["boxes"][str(label)] for label in step["labels"] if str(label) in step["boxes"]):
        corners = (left * across, top * down, (left + max(0, wide)) * across, (top + max(0, high)) * down)
        sides = [min(max(-20, side), 2 * _WIDTH) for side in corners]
        for color, out, width in (("white", 6, 3), (_ACTED, 4, 4)):
            grown = [side + (-out if at < 2 else out) for at, side in enumerate(sides)]
            draw.rectangle(grown, outline=color, width=width)
    for place in step["places"]:
        points = [(x * page.width, y * page.height) for x, y in place]
        draw.line(points, _ACTED, 4)
        for at, (x, y) in enumerate(points):  # a ring where it begins, and a dot where it ends
            radius = 6 if at else 12
            draw.ellipse((x - radius, y - radius, x + radius, y + radius), _ACTED if at else None, _ACTED, 4)
