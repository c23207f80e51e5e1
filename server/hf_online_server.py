"""The HTTP inference server: serves a Hugging Face checkpoint folder to many browsers at once.

    python server/hf_online_server.py --model_name_or_path DIR --port 8080

Prints `serving DIR on http://host:port` when ready; SIGTERM finishes the requests under way and ends. Checkpoints
released by OpenWebVoyager want `--image_size 980 --do_image_splitting False`. OMP_NUM_THREADS sets a CPU's threads.
"""

import dataclasses
import json
import signal
import socket
import sys
from pathlib import Path
from typing import Literal

from data import cli
from data.errors import UserError

MODEL_TYPES = ("idefics2", "llava", "llava_next")


@dataclasses.dataclass(frozen=True)
class Config:
    """Serve a vision-language policy over HTTP."""

    model_name_or_path: str
    """Checkpoint folder in Hugging Face format (config.json, *.safetensors, tokenizer, processor)."""
    port: int = 8080
    """Port to listen on; 0 picks a free one."""
    host: str = "127.0.0.1"
    """Address to listen on; 0.0.0.0 serves every machine that reaches this one, without a password."""
    device: str = "auto"
    """auto (the first GPU, else the CPU), cpu, cuda:0, ..."""
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    """auto: float32 on CPU, else the checkpoint's own."""
    attn_implementation: Literal["sdpa", "eager"] = "sdpa"
    """Attention kernels; sdpa takes flash kernels where they fit."""
    max_batch_size: int = 16
    """Sequences generated at once."""
    max_queue: int = 256
    """Requests that may wait; further ones get status 429."""
    temperature: float = 1.2
    """Default sampling temperature; 0 is greedy."""
    top_k: int = 50
    """Sample among the k likeliest tokens; 0 switches this off."""
    top_p: float = 1.0
    """Sample among the likeliest tokens that make up this mass."""
    max_new_tokens: int = 256
    """Longest reply."""
    min_new_tokens: int = 3
    """No end token before this many."""
    image_size: int | None = None
    """Longest and shortest image edge in pixels; None: what the processor's config says."""
    do_image_splitting: bool | None = None
    """Whether idefics2 also reads each image in quarters; None: what the processor's config says."""
    image_cache_size: int = 512
    """Images whose features are kept."""


def main(config: Config) -> None:
    """Check what can be checked in no time, then load and serve."""
    for name in ("max_batch_size", "max_queue", "image_cache_size"):
        if getattr(config, name) < 1:
            raise UserError(f"--{name} is {getattr(config, name)}; give at least 1")
    folder = check_folder(Path(config.model_name_or_path))
    listener = bind(config.host, config.port)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # while loading; uvicorn drains first, then comes here too
    serve(config, folder, listener)


def check_folder(folder: Path) -> Path:
    """Raises `UserError` unless `folder` looks like a checkpoint that can be served."""
    if not folder.is_dir():
        raise UserError(f"--model_name_or_path {folder}: no such folder")
    if not (folder / "config.json").is_file():
        raise UserError(f"--model_name_or_path {folder}: not a Hugging Face checkpoint (it has no config.json)")
    try:
        model_type = json.loads((folder / "config.json").read_text()).get("model_type")
    except (ValueError, AttributeError):
        raise UserError(f"{folder / 'config.json'}: not a model's configuration") from None
    if model_type not in MODEL_TYPES:
        raise UserError(f"--model_name_or_path {folder}: its model type {model_type!r} is none of {MODEL_TYPES}")
    if not any(folder.glob("*.safetensors")):
        raise UserError(f"--model_name_or_path {folder}: no *.safetensors in it; pickled weights are not read")
    return folder


def bind(host: str, port: int) -> socket.socket:
    """A listening socket, taken before anything heavy is loaded."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(1024)
    except (OSError, OverflowError) as error:
        raise UserError(f"cannot listen on {host}:{port}: {error}; is another server running there?") from None
    return listener


def serve(config: Config, folder: Path, listener: socket.socket) -> None:
    """Load the model and serve until a signal."""
    import uvicorn

    from server.engine import Engine
    from server.feature_cache import FeatureCache
    from server.http_api import create_app
    from server.sampling import SamplingParams
    from server.service import Service
    from server.vision_language_model import LoadOptions, VisionLanguageModel

    def fields_for(kind: type) -> dict[str, object]:
        """The fields of `config` that `kind` has too."""
        names = {field.name for field in dataclasses.fields(kind)}
        return {name: value for name, value in dataclasses.asdict(config).items() if name in names}

    defaults = SamplingParams(**fields_for(SamplingParams))
    defaults.check()
    model = VisionLanguageModel(folder, LoadOptions(**fields_for(LoadOptions)))
    engine = Engine(model, FeatureCache(config.image_cache_size), config.max_batch_size, config.max_queue)
    service = Service(engine, defaults, model_name=folder.resolve().name)
    address = f"http://{config.host}:{listener.getsockname()[1]}"
    app = create_app(service, on_ready=lambda: print(f"serving {folder} on {address}", flush=True))
    uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False)).run(sockets=[listener])


if __name__ == "__main__":
    cli.run(Config, main, description=__doc__)
