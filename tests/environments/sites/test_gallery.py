"""The gallery: what its tasks ask stands in pictures alone, and the teacher sees it."""

import io
import itertools
import re
from pathlib import Path

import pytest
from PIL import Image, ImageDraw

from data.task import read_tasks
from environments.sites.content import Content, build
from environments.sites.expert.seeing import figures
from environments.sites.gallery.content import COLORS, SHAPES
from environments.sites.gallery.pages import Pages
from environments.sites.instructions import LOOKING_WORDINGS, parse
from environments.sites.visits import Visit

TASKS = Path(__file__).resolve().parents[3] / "data" / "tasks" / "looking"


@pytest.fixture(scope="module")
def world() -> Content:
    return build(seed=0)


def test_every_split_has_every_family_and_no_exhibit_of_another():
    named = {}
    for file in TASKS.glob("*.jsonl"):
        slots = [parse(task.ques) for task in read_tasks(file)]
        assert {instruction.family for instruction in slots} == set(LOOKING_WORDINGS)
        named[file.stem] = {word for each in slots for word in re.findall(r"[A-Z][a-z]+", str(each.slots))}
    assert set(named) == {"IL", "optim-1", "optim-2", "optim-3", "test", "validation"}
    for one, other in itertools.combinations(named.values(), 2):
        assert not one & other


def test_text_and_addresses_of_a_page_do_not_tell(world):
    pages = Pages(world.gallery)
    for exhibit in world.gallery.exhibits.values():
        shown = pages.exhibit(Visit("", None, {"title": exhibit.title}, {}))
        shown += pages.room(Visit("", None, {"room": exhibit.room}, {}))
        pictures = re.findall(r"<svg.*?</svg>", shown)
        assert len(pictures) == 7 and all(
            'aria-hidden="true"' in picture and "<text" not in picture for picture in pictures
        )
        rest = re.sub(r'<head>.*?</head>|<svg.*?</svg>|autocomplete="off"', "", shown, flags=re.DOTALL)
        assert not re.search(rf"\b({'|'.join([*COLORS, *SHAPES])}|on|off)\b", rest)


@pytest.mark.parametrize(("color", "shape"), list(itertools.product(COLORS, SHAPES)))
def test_the_teacher_sees_color_and_shape(color, shape):
    picture = Image.new("RGB", (1024, 768), "white")
    draw = ImageDraw.Draw(picture)
    draw.rectangle((0, 0, 1023, 60), "#555")
    for left in (100, 500):
        box = (left, 200, left + 120, 320)
        if shape == "triangle":
            draw.polygon([(left + 60, 200), (left + 120, 320), (left, 320)], COLORS[color])
        else:
            {"circle": draw.ellipse, "square": draw.rectangle}[shape](box, COLORS[color])
    file = io.BytesIO()
    picture.save(file, "PNG")
    seen = figures(file.getvalue())
    assert [(figure.color, figure.shape) for figure in seen] == [(color, shape)] * 2
    assert seen[0].left < seen[1].left and abs(seen[0].height - 120) <= 8
