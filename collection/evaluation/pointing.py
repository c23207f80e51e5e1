"""How well a model points: what it was asked and answered, in words and in the table that ScreenSpot's papers show."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from common.shown.tables import Table
from common.significance import wilson

_ALL = "all"
NO_REPLY = "no reply: "
"""So begins the `reply` of a target about which the server said nothing, before its reason."""


@dataclass(frozen=True)
class Pointed:
    """One answer: the target's box ([left, top, width, height]), the point that was named (None: none), and whether the
    target was hit. A sample of a grounding set also has what it was asked and by what it is reported."""

    name: str
    box: tuple[float, float, float, float]
    reply: str
    action: dict[str, Any] | None
    hit: bool
    ques: str = ""
    platform: str = ""
    kind: str = ""

    @property
    def css(self) -> tuple[float, float]:
        """The point that was named, in CSS pixels."""
        assert self.action is not None
        return self.action["css"][0]

    @property
    def offset(self) -> tuple[float, float]:
        """From the target's center, in CSS pixels."""
        left, top, width, height = self.box
        x, y = self.css
        return x - left - width / 2, y - top - height / 2


def report(found: Sequence[Pointed], targets: str = "buttons") -> str:
    """Hits, errors in CSS pixels, and the scale that would fit the answers better."""
    named = [one for one in found if one.action]
    silent = [one.reply for one in found if one.reply.startswith(NO_REPLY)]
    lines = [
        f"{sum(one.hit for one in found)} of {len(found)} {targets} hit, {len(found) - len(named)} without a click"
    ]
    if named:
        errors = sorted(math.hypot(*one.offset) for one in named)
        lines.append(
            f"error from the center: median {statistics.median(errors):.2f} px, "
            f"95 % within {errors[math.ceil(0.95 * len(errors)) - 1]:.2f} px, most {errors[-1]:.2f} px"
        )
        ratios = []
        for axis in (0, 1):
            centers = [one.box[axis] + one.box[axis + 2] / 2 for one in named]
            said = [one.css[axis] for one in named]
            ratios.append(sum(a * b for a, b in zip(said, centers, strict=True)) / sum(b * b for b in centers))
        lines.append(f"its points lie at {ratios[0]:.4f} times the true distance across and {ratios[1]:.4f} times down")
    elif found:
        lines.append(f"the first reply: {found[0].reply[:200]!r}")
    if silent:
        why = silent[0].removeprefix(NO_REPLY)[:200]
        lines.append(f"the server did not answer about {len(silent)}, which count as missed; the first time: {why}")
    return "\n".join(lines)


def screenspot_table(found: Sequence[Pointed]) -> Table:
    """A row for each platform, columns for text, icon and all: the share that was hit in percent, its 95 % interval
    (Wilson's), hits of how many. `average` is that of the cells, as the papers' last column."""
    kinds = sorted({one.kind for one in found}, reverse=True)
    platforms = sorted({one.platform for one in found})
    table = Table(["platform"], [*(kind or "no kind" for kind in kinds), _ALL])
    cells = []
    for platform in platforms:
        row = [one for one in found if one.platform == platform]
        parts = [[one for one in row if one.kind == kind] for kind in kinds]
        cells += [_share(part) for part in parts if part]
        table.add(platform or "no platform", *map(_cell, parts), _cell(row))
    columns = [[one for one in found if one.kind == kind] for kind in kinds]
    table.add(_ALL, *map(_cell, columns), _cell(found), is_total=True)
    table.add("average", *[""] * len(kinds), f"{100 * statistics.fmean(cells):.1f}" if cells else "")
    return table


def _share(part: Sequence[Pointed]) -> float:
    return sum(one.hit for one in part) / len(part)


def _cell(part: Sequence[Pointed]) -> str:
    if not part:
        return ""
    low, high = wilson(_share(part), len(part))
    return f"{100 * _share(part):.1f} [{100 * low:.0f}, {100 * high:.0f}] {sum(one.hit for one in part)}/{len(part)}"
