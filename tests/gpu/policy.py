"""A released shape with random weights, drawn on the GPU: `python -m tests.gpu.policy --folder POLICY`."""

import dataclasses
import shutil
from pathlib import Path

from common import cli
from common.files import write_json
from tests.rehearsal.checkpoints import make_checkpoint
from tests.rehearsal.sizes import SIZES


@dataclasses.dataclass(frozen=True)
class Config:
    """Write a checkpoint."""

    shape: str = "qwen3-vl-4b"
    """A folder of training/memory/shapes."""
    folder: Path = Path("policy")
    """Receives it; one that is there is kept."""
    tiny: bool = False
    """Narrow layers."""
    device: str = "cuda"
    """Draws the weights."""
    output: Path = Path("policy.json")
    """Receives the bytes of its files."""


def main(config: Config) -> None:
    """Draw, write, count."""
    if not config.folder.exists():
        changes = (
            next(size.changes for size in SIZES["tiny"].values() if size.shape == config.shape) if config.tiny else {}
        )
        partial = config.folder.with_suffix(".partial")
        shutil.rmtree(partial, ignore_errors=True)
        make_checkpoint(partial, config.shape, changes, config.device)
        partial.rename(config.folder)
    write_json(config.output, {"bytes": sum(path.stat().st_size for path in config.folder.iterdir())})


if __name__ == "__main__":
    cli.run(Config, main, description=__doc__)
