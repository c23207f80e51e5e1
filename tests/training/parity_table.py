"""How far every layout in bf16 is from fp32, beside Hugging Face's own bf16: measured and written into the docs.

    python -m tests.training.parity_table                      # all models in all layouts
    python -m tests.training.parity_table --models llava       # one of them; the other rows stay

Every figure goes to docs/results/parity_bf16.json, the table into docs/results/parity.md. `rounding.py` says what is
compared.
"""

import dataclasses
import math
import tempfile
from pathlib import Path
from typing import Any

from common import cli
from common.files import read_json, write_json
from tests.conftest import ROOT
from tests.training import rounding
from tests.training.modules.test_parity import FP32, MAKERS, fits, measure
from tests.training.rounding import Errors, TensorError

FIGURES, PAGE = ROOT / "docs" / "results" / "parity_bf16.json", ROOT / "docs" / "results" / "parity.md"
BEGIN, END = "<!-- python -m tests.training.parity_table -->\n", "<!-- end -->\n"
_GROUPS = ("loss", "logits", "gradients")
_SIZES = {"large": rounding.FACTOR, "small": rounding.SMALL_FACTOR}
_HEAD = (
    "| model | layouts | loss | logits | all gradients | times one process, large tensors | small ones |\n"
    "|---|---|---|---|---|---|---|\n"
)


@dataclasses.dataclass(frozen=True)
class Config:
    """Measure and write."""

    models: tuple[str, ...] = tuple(MAKERS)
    """Which."""
    layouts: tuple[str, ...] = tuple(FP32)
    """Which of them, each in bf16."""
    figures: Path = FIGURES
    """JSON for all figures."""
    page: Path = PAGE
    """Page whose table is replaced."""


def main(config: Config) -> None:
    """Model by model, so that a run cut short keeps what it has."""
    for model in config.models:
        with tempfile.TemporaryDirectory() as folder:
            layouts = tuple(f"{layout},bf16" for layout in config.layouts if fits(model, layout))
            found = measure(Path(folder), {model: layouts})[model]
        rows = read_json(config.figures) if config.figures.exists() else {}
        rows[model] = {layout: _summary(rounding.read(found[layout])) for layout in layouts}
        write_json(config.figures, {name: rows[name] for name in MAKERS if name in rows})
        _write_table(config.page, read_json(config.figures))


def _summary(errors: Errors) -> dict[str, Any]:
    """Relative errors of a layout and of one process, and the large and the small tensor that is farthest off."""
    gradients = [error for name, error in errors.items() if name not in ("loss", "logits", "norm")]
    groups = {name: errors[name] for name in _GROUPS if name in errors} | {"gradients": _together(gradients)}
    relative = {
        name: {"layout": one.layout / one.size, "one_process": one.one_process / one.size}
        for name, one in groups.items()
    }
    farthest = {}
    for size, factor in _SIZES.items():
        names = [name for name in errors if errors[name].factor == factor]
        name = max(names, key=lambda one: errors[one].times)
        farthest[size] = {"tensor": name, "times": errors[name].times}
    return {**relative, "tensors": len(errors), "farthest": farthest}


def _together(gradients: list[TensorError]) -> TensorError:
    """All as one tensor."""
    distances = [(one.layout, one.one_process, one.size) for one in gradients]
    together = (math.hypot(*values) for values in zip(*distances, strict=True))
    return TensorError(*together, sum(one.elements for one in gradients))


def _write_table(page: Path, rows: dict[str, dict[str, Any]]) -> None:
    before, _, rest = page.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    page.write_text(before + BEGIN + _HEAD + "".join(_row(name, row) for name, row in rows.items()) + END + after)


def _row(model: str, layouts: dict[str, Any]) -> str:
    """One process's error, then the layouts' smallest to largest."""
    cells = []
    for name in _GROUPS:
        found = [one[name] for one in layouts.values() if name in one]
        ours = [one["layout"] for one in found]
        cells.append(f"{found[0]['one_process']:.3%}: {min(ours):.3%} to {max(ours):.3%}" if found else "")
    for size in _SIZES:
        layout = max(layouts, key=lambda one: layouts[one]["farthest"][size]["times"])
        worst = layouts[layout]["farthest"][size]
        cells.append(f"{worst['times']:.2f}: `{worst['tensor'].removeprefix('model.')}` in `{layout}`")
    return f"| {model} | {len(layouts)} | {' | '.join(cells)} |\n"


if __name__ == "__main__":
    cli.run(Config, main, description=__doc__)
