"""Publishing the weights of a living model against a plain copy of the same bytes, in turns.

    python benchmarks/online_publish.py --work_dir DIR                 # 4 of a Llama-3.2-1B's 16 layers
    python benchmarks/online_publish.py --work_dir DIR --num_layers 16 # all of it: 2.5 GB of memory, 5 of disk

One process holds a model in bf16 with random weights and a small vocabulary. Each turn publishes a version as the
trainer does, up to its rename, and copies the folder of that version. Both are flushed to disk, and the copy begins
with its input in memory.
"""

import dataclasses
import shutil
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parent.parent)  # training.py lies in this folder and would hide the room

import torch

from common import cli
from common.files import write_json
from data.online_run import OnlineRun
from models.checkpoint.output_folder import flush
from models.registry import named
from training.modules import kernels

_LLAMA_1B = {
    **{"model_type": "llama", "hidden_size": 2048, "intermediate_size": 8192, "num_attention_heads": 32},
    **{"num_key_value_heads": 8, "vocab_size": 32768, "max_position_embeddings": 131072, "rms_norm_eps": 1e-5},
    **{"tie_word_embeddings": True, "rope_parameters": {"rope_type": "default", "rope_theta": 500000.0}},
}


@dataclasses.dataclass(frozen=True)
class Config:
    """Publish and copy in turns."""

    work_dir: Path
    """A folder on the disk that is measured; what is written there is removed."""
    num_layers: int = 4
    """Of 16."""
    repeats: int = 5
    """Turns."""


def main(config: Config) -> None:
    """Print seconds of each, and their ratio."""
    kernels.prepare(False)
    from training import layout
    from training.modules import torch_dist
    from training.modules.registry import model_class
    from training.modules.trainable import EVERYTHING
    from training.online.publish import WeightsPublisher

    kind, folder = named("llama"), config.work_dir / "published"
    folder.mkdir(parents=True)
    write_json(folder / "config.json", {**_LLAMA_1B, "num_hidden_layers": config.num_layers})
    hf = kind.read_config(folder)
    torch_dist.initialize_alone()
    form = layout.Layout(bf16=True)
    layout.initialize(form, seed=0)
    model = model_class(kind)(hf, form, EVERYTHING, None).bfloat16()
    run = OnlineRun(folder / "run")
    publisher = WeightsPublisher([model], kind, hf, run, keep=2, lora=None)
    published, copied = [], []
    for version in range(1, config.repeats + 1):
        published.append(_seconds(lambda: publisher.publish(version, folder)))  # noqa: B023 (called at once)
        copied.append(_seconds(lambda: _copy(run.version(version), folder / "copy")))  # noqa: B023
        shutil.rmtree(folder / "copy")
    num_bytes = sum(path.stat().st_size for path in run.version(config.repeats).iterdir())
    print(f"{num_bytes / 1e9:.2f} GB, median (least to most) of {config.repeats}")
    for number, kind_of_time in enumerate(("wall seconds", "CPU seconds")):
        ours, theirs = [one[number] for one in published], [one[number] for one in copied]
        ratios = [one / other for one, other in zip(ours, theirs, strict=True)]
        print(f"{kind_of_time}: published {_told(ours)}, copied {_told(theirs)}, ratio {_told(ratios)}")
    shutil.rmtree(folder)


def _copy(source: Path, target: Path) -> None:
    shutil.copytree(source, target)
    flush(target)


def _seconds(work: Callable[[], None]) -> tuple[float, float]:
    """On the wall, and of this process on a core."""
    began, used = time.monotonic(), time.process_time()
    work()
    return time.monotonic() - began, time.process_time() - used


def _told(seconds: list[float]) -> str:
    return f"{statistics.median(seconds):.2f} ({min(seconds):.2f} to {max(seconds):.2f})"


if __name__ == "__main__":
    torch.manual_seed(0)
    cli.run(Config, main, description=__doc__)
