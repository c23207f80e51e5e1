"""Publishing the weights of a living model against a plain copy, and one plain write from memory, of the same bytes.

    python benchmarks/online_publish.py --work_dir DIR                 # 4 of a Llama-3.1-8B's 32 layers
    python benchmarks/online_publish.py --work_dir DIR --device cuda --num_layers 32

One process holds a model in bf16 with random weights and a small vocabulary. The three take turns in a changing order;
each begins with the memory that the one before gave back, and flushes what it made to disk. A copy stays in the kernel
and begins with its input in memory; the write is the least that can bring weights from a process to a disk. Then the
server's side: the published folder is loaded onto the device.
"""

import dataclasses
import shutil
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal

sys.path[0] = str(Path(__file__).resolve().parent.parent)  # training.py lies in this folder and would hide the room

import torch
from transformers import AutoModelForCausalLM

from common import cli
from common.files import write_json
from data.online_run import OnlineRun
from models.checkpoint.output_folder import flush
from models.registry import named
from training.modules import kernels

_LLAMA_8B = {
    **{"model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336, "num_attention_heads": 32},
    **{"num_key_value_heads": 8, "vocab_size": 32768, "max_position_embeddings": 131072, "rms_norm_eps": 1e-5},
    **{"tie_word_embeddings": False, "rope_parameters": {"rope_type": "default", "rope_theta": 500000.0}},
}


@dataclasses.dataclass(frozen=True)
class Config:
    """Publish and copy in turns."""

    work_dir: Path
    """A folder on the disk that is measured; what is written there is removed."""
    num_layers: int = 4
    """Of 32."""
    repeats: int = 5
    """Turns."""
    device: Literal["cpu", "cuda"] = "cpu"
    """Where the model lives."""
    output: Path | None = None
    """Receives the seconds of each turn as JSON."""


def main(config: Config) -> None:
    """Print seconds of each, and their ratio."""
    kernels.prepare(False)
    from training import layout
    from training.modules import torch_dist
    from training.modules.registry import model_class
    from training.modules.trainable import EVERYTHING
    from training.online.publish import WeightsPublisher

    kind, folder = named("llama"), config.work_dir / "published"
    shutil.rmtree(folder, ignore_errors=True)  # what a stopped run left
    folder.mkdir(parents=True)
    write_json(folder / "config.json", {**_LLAMA_8B, "num_hidden_layers": config.num_layers})
    hf = kind.read_config(folder)
    torch_dist.initialize_alone()
    form = layout.Layout(bf16=True)
    layout.initialize(form, seed=0)
    model = model_class(kind)(hf, form, EVERYTHING, None).bfloat16().to(config.device)
    run = OnlineRun(folder / "run")
    publisher = WeightsPublisher([model], kind, hf, run, keep=2, lora=None)
    publisher.publish(0, folder)
    source, content = run.version(0), _noise(_num_bytes(run.version(0)))
    works: dict[str, tuple[Path, Callable[[Path], None]]] = {
        "published": (run.version(1), lambda _: publisher.publish(1, folder)),
        "copied": (folder / "copy", lambda target: shutil.copytree(source, target)),
        "written": (folder / "write", lambda target: _write(content, target)),
    }
    spent: dict[str, list[tuple[float, float]]] = {name: [] for name in works}
    for turn in range(-1, config.repeats):
        for name in [*works, *works][turn % 3 : turn % 3 + 3]:
            target, work = works[name]
            seconds = _seconds(work, target)
            if turn >= 0:  # the first brings memory into use
                spent[name].append(seconds)
    loaded = [_load(source, config.device) for _ in range(config.repeats)]
    if config.output:
        write_json(config.output, {"bytes": content.nbytes, "device": config.device, **spent, "loaded": loaded})
    print(f"{content.nbytes / 1e9:.2f} GB, median (least to most) of {config.repeats}")
    for number, kind_of_time in enumerate(("wall seconds", "CPU seconds")):
        by_name = {name: [one[number] for one in turns] for name, turns in spent.items()}
        print(f"{kind_of_time}: " + ", ".join(f"{name} {_told(seconds)}" for name, seconds in by_name.items()))
        for name in ("copied", "written"):
            pairs = zip(by_name["published"], by_name[name], strict=True)
            print(f"    published / {name}: {_told([one / other for one, other in pairs])}")
    print(f"wall seconds: loaded {_told(loaded)}")
    shutil.rmtree(folder)


def _load(folder: Path, device: str) -> float:
    began = time.monotonic()
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.bfloat16, device_map=device)
    for parameter in model.parameters():
        parameter.detach().clone()  # on CPU they were only mapped
    if device == "cuda":
        torch.cuda.synchronize()
    return time.monotonic() - began


def _noise(num_bytes: int) -> torch.Tensor:
    """[num_bytes] that do not compress, drawn once and repeated: drawing 8 GB takes half a minute."""
    drawn = torch.randint(256, (min(num_bytes, 2**26),), dtype=torch.uint8)
    return drawn.repeat(-(-num_bytes // len(drawn)))[:num_bytes]


def _num_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir())


def _write(content: torch.Tensor, target: Path) -> None:
    target.mkdir()
    (target / "model.safetensors").write_bytes(content.numpy())


def _seconds(work: Callable[[Path], None], target: Path) -> tuple[float, float]:
    """On the wall, and of this process on a core, until it lies on the disk; it is removed then."""
    began, used = time.monotonic(), time.process_time()
    work(target)
    flush(target)
    spent = time.monotonic() - began, time.process_time() - used
    shutil.rmtree(target)
    return spent


def _told(seconds: list[float]) -> str:
    return f"{statistics.median(seconds):.2f} ({min(seconds):.2f} to {max(seconds):.2f})"


if __name__ == "__main__":
    torch.manual_seed(0)
    cli.run(Config, main, description=__doc__)
