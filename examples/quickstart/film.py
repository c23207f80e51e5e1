"""The moving picture of the README: one task before training and after it.

python examples/quickstart/film.py runs/quickstart --task Shop-cart-test--001 --output docs/film.gif
"""

import dataclasses
import subprocess
import sys
import tempfile
from pathlib import Path

import tyro
from PIL import Image, ImageDraw, ImageFont, ImageSequence

from common import cli
from common.files import link_tree

_PARTS = {
    "untrained": ("Before training", "#9b2c2c"),
    "optim-1": ("After one round: imitation, exploration, training", "#276749"),
}
_BAND, _STEP_MS = 34, 2200


@dataclasses.dataclass(frozen=True)
class Config:
    """Join the films of one test task."""

    run_dir: tyro.conf.Positional[Path]
    """Folder of a finished quickstart."""
    task: str
    """Id of a test task that the trained policy solved."""
    output: Path
    """GIF to write."""


def main(config: Config) -> None:
    """Write the GIF."""
    frames = []
    for name, (title, color) in _PARTS.items():
        frames += [
            _titled(frame, title, color) for frame in _film(config.run_dir / name / "test" / f"task{config.task}")
        ]
    height = max(frame.height for frame in frames)
    padded = [Image.new("RGB", (frame.width, height), "white") for frame in frames]
    for whole, frame in zip(padded, frames, strict=True):
        whole.paste(frame)
    first, *rest = (whole.quantize(64) for whole in padded)
    first.save(config.output, save_all=True, append_images=rest, duration=_STEP_MS, loop=0)


def _film(trajectory: Path) -> list[Image.Image]:
    """The viewer's, of one trajectory."""
    with tempfile.TemporaryDirectory() as folder:
        link_tree(trajectory, Path(folder, "one", trajectory.name))
        words = [sys.executable, "-m", "viewer", f"{folder}/one", "--export", f"{folder}/pages", "--gif", "true"]
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
        [path] = Path(folder, "pages").rglob("*.gif")
        with Image.open(path) as film:
            return [frame.convert("RGB") for frame in ImageSequence.Iterator(film)]


def _titled(frame: Image.Image, title: str, color: str) -> Image.Image:
    whole = Image.new("RGB", (frame.width, frame.height + _BAND), color)
    ImageDraw.Draw(whole).text((10, 7), title, "white", ImageFont.load_default(18))
    whole.paste(frame, (0, _BAND))
    return whole


if __name__ == "__main__":
    cli.run(Config, main, description="Join the films of one test task.")
