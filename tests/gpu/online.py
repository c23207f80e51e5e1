"""A policy published by the trainer that holds it to a server on the same card: `python -m tests.gpu.online`.

The trainer's model, as `training/train_online.sh` has it after a step, is written as a Hugging Face folder; a server in
a process of its own loads that folder while it serves the one before. A version has arrived when a reply says that it
was given by it. Beside it a plain copy of the same bytes.
"""

import dataclasses
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from benchmarks import shapes
from common import cli
from common.errors import UserError
from common.files import read_json, write_json
from data.online_run import OnlineRun
from models.checkpoint.output_folder import flush
from models.registry import family_of
from tests.rehearsal.checkpoints import SHAPES
from tests.rehearsal.processors import write_processor
from tests.server.helpers import RunningServer, png, running_server, screenshot
from training.modules import kernels


@dataclasses.dataclass(frozen=True)
class Config:
    """Publish to a server."""

    shape: str = "qwen3-vl-8b"
    """A folder of training/memory/shapes."""
    work_dir: Path = Path("online")
    """Receives the versions; removed at the end."""
    keep: Path | None = None
    """Where the last version is left, for lines behind; nothing that is there is changed."""
    repeats: int = 2
    """Versions after the first."""
    cpu: bool = False
    """A tiny model on this CPU."""
    output: Path = Path("online.json")
    """Receives the seconds."""


def main(config: Config) -> None:
    """Publish, serve, publish again."""
    kernels.prepare(False)
    from training import layout
    from training.modules import torch_dist
    from training.modules.registry import model_class
    from training.modules.trainable import EVERYTHING
    from training.online.publish import WeightsPublisher

    device = "cpu" if config.cpu else "cuda:0"
    run, files = OnlineRun(config.work_dir / "run"), config.work_dir / "files"
    shutil.rmtree(config.work_dir, ignore_errors=True)  # what a stopped run left
    hf = _write_files(config, files)
    kind = family_of(hf)
    torch_dist.initialize_alone()
    layout.initialize(layout.Layout(bf16=True), seed=0)
    model = model_class(kind)(hf, layout.Layout(bf16=True), EVERYTHING, None).bfloat16().to(device)
    shapes.draw_weights(model)
    publisher = WeightsPublisher([model], kind, hf, run, keep=1, lora=None)
    publisher.publish(0, files)
    copied = _seconds(lambda: _copy(run.version(0), config.work_dir / "copy"))
    found: dict[str, Any] = {
        **{"shape": config.shape, "layers": hf.get_text_config().num_hidden_layers, "device": device},
        **{"bytes": sum(path.stat().st_size for path in run.version(0).iterdir()), "copied_s": copied, "versions": []},
    }
    began = time.monotonic()
    with running_server(run.version(0), "--device", device, "--kv_cache_gib", "4") as server:
        found["server_started_s"] = time.monotonic() - began
        _expect(server, 0)
        for version in range(1, 1 + config.repeats):
            with torch.no_grad():
                for parameter in model.parameters():
                    parameter.mul_(1.01)
            published = _seconds(lambda version=version: publisher.publish(version, files))
            reloaded = _seconds(lambda version=version: _reload(server, run.version(version)))
            replied = _seconds(lambda version=version: _expect(server, version))
            total = published + reloaded + replied
            found["versions"].append(
                {"published_s": published, "reloaded_s": reloaded, "first_reply_s": replied, "total_s": total}
            )
            write_json(config.output, found)
    print(found)
    if config.keep is not None and not config.keep.exists():
        run.version(config.repeats).rename(config.keep)
    shutil.rmtree(config.work_dir)


def _write_files(config: Config, folder: Path) -> Any:
    """Configuration and processor; returns the former."""
    folder.mkdir(parents=True)
    fields = shapes.tiny_fields(config.shape) if config.cpu else read_json(SHAPES / config.shape / "config.json")
    write_json(folder / "config.json", fields)
    write_processor(folder, fields)
    write_json(folder / "config.json", fields)  # as it is published rather than as a processor may leave it
    return shapes.tiny(config.shape) if config.cpu else shapes.released(config.shape)


def _copy(source: Path, target: Path) -> None:
    shutil.copytree(source, target)
    flush(target)
    shutil.rmtree(target)


def _reload(server: RunningServer, folder: Path) -> None:
    status, answer = server.post("/reload", {"model_name_or_path": str(folder)}, timeout_s=300)
    if status != 200:
        raise UserError(f"the server refused version {folder.name}: {answer}")


def _expect(server: RunningServer, version: int) -> None:
    """A reply of that version."""
    text = [{"role": "user", "content": "<image>\nWhat next?"}]
    body = {"id": "one", "conversations": text, "images": [png(screenshot(1))], "max_new_tokens": 4, "temperature": 0}
    status, answer = server.post("/predict", body)
    if status != 200 or not answer["weights_version"].startswith(f"{version:06d}@"):
        raise UserError(f"version {version} was expected; the server said {status} {answer}")


def _seconds(work: Callable[[], object]) -> float:
    began = time.monotonic()
    work()
    return time.monotonic() - began


if __name__ == "__main__":
    cli.run(Config, main, description=__doc__)
