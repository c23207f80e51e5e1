"""What may be asked of somebody who looks."""

import random

from environments.sites.gallery.content import Exhibit, Gallery
from environments.sites.truth import Instance, answer, deal, demand, exact_answer, found


def instances(gallery: Gallery, split: str, count: int) -> dict[str, list[Instance]]:
    """`count` instances of every family, over exhibits of `split` only."""
    rng = random.Random(f"gallery tasks {split}")
    shapes, charts, lamps = (deal(gallery.of(split, kind), f"{kind} {split}") for kind in ("shapes", "charts", "lamps"))
    return {
        "Look-color": [_color(next(shapes)) for _ in range(count)],
        "Look-shape": [_shape(next(shapes)) for _ in range(count)],
        "Look-choose": [_choose(next(shapes)) for _ in range(count)],
        "Look-chart": [
            _bar(chart, rng.choice(list(chart.bars))) for chart, _ in zip(charts, range(count), strict=False)
        ],
        "Look-lamp": [_lamp(next(lamps)) for _ in range(count)],
    }


def _color(exhibit: Exhibit) -> Instance:
    return Instance({"exhibit": exhibit.title}, exact_answer(exhibit.color))


def _shape(exhibit: Exhibit) -> Instance:
    return Instance({"exhibit": exhibit.title}, exact_answer(exhibit.shape))


def _choose(exhibit: Exhibit) -> Instance:
    slots = {"room": exhibit.room, "color": exhibit.color, "shape": exhibit.shape}
    return Instance(slots, answer(exhibit.year))


def _bar(chart: Exhibit, color: str) -> Instance:
    return Instance({"exhibit": chart.title, "color": color}, exact_answer(str(chart.bars[color])))


def _lamp(lamp: Exhibit) -> Instance:
    return Instance({"exhibit": lamp.title}, exact_answer("on" if lamp.lit else "off"))


def instance_of(gallery: Gallery, family: str, slots: dict[str, str]) -> tuple[Instance, str]:
    """(what an instruction of this family asks for, the split its entities belong to); InfeasibleError otherwise."""
    if family == "Look-choose":
        shown = [gallery.exhibits[title] for title in gallery.rooms.get(slots["room"], ())]
        chosen = [each for each in shown if (each.color, each.shape) == (slots["color"], slots["shape"])]
        demand(
            chosen and chosen[0].kind == "shapes", f"no {slots['color']} {slots['shape']} in the room {slots['room']!r}"
        )
        return _choose(chosen[0]), chosen[0].split
    kind = {"Look-chart": "charts", "Look-lamp": "lamps"}.get(family, "shapes")
    fault = f"none of the {kind} is {slots['exhibit']!r}"
    exhibit = found(gallery.exhibits.get(slots["exhibit"]), fault)
    demand(exhibit.kind == kind, fault)
    if family == "Look-chart":
        demand(slots["color"] in exhibit.bars, f"{exhibit.title!r} has no bar in {slots['color']!r}")
        return _bar(exhibit, slots["color"]), exhibit.split
    return {"Look-color": _color, "Look-shape": _shape, "Look-lamp": _lamp}[family](exhibit), exhibit.split
