"""Pictures of figures, where there is no screen."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any


@contextlib.contextmanager
def drawing(path: Path, size: tuple[float, float], columns: int = 1) -> Iterator[list[Any]]:
    """Matplotlib's axes to draw on, one for each column; `size` in inches. A PNG in the end."""
    import matplotlib  # takes a second

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, columns, figsize=size, layout="constrained", squeeze=False)
    yield list(axes[0])
    temporary = path.with_suffix(".tmp.png")
    figure.savefig(temporary, dpi=150)
    pyplot.close(figure)
    temporary.replace(path)
