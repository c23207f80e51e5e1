"""The HTTP inference server: serves a Hugging Face checkpoint folder to many browsers at once.

    python server/hf_online_server.py --model_name_or_path DIR --port 8080
    python server/hf_online_server.py --port 8080          the starting policy that comes with the repository

Prints `serving DIR on http://host:port` when ready; SIGTERM finishes the requests under way and ends. How images are
prepared, the checkpoint's processor files say; hf2mg.sh writes OpenWebVoyager's values into them, and a released folder
that never went through it wants `--image_recipe published`. OMP_NUM_THREADS sets a CPU's threads.
Replies are drawn at temperature 1.2 for exploration, as published; for evaluation give `--temperature 0`.
"""

import dataclasses
import json
import os
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Literal

try:
    from common import cli
    from common.defaults import STARTING_POLICY, shipped, short
    from common.errors import UserError
    from common.files import read_json
    from common.key_flags import hide_keys
    from common.processes import allow_many_descriptors
    from models.registry import NAMES
except ModuleNotFoundError as missing:  # not the python of the virtual environment
    root = Path(__file__).resolve().parent.parent
    print(f"error: {missing}; run: bash {root}/install.sh && source {root}/.venv/bin/activate", file=sys.stderr)
    sys.exit(2)

if TYPE_CHECKING:  # torch takes seconds to import; what can be refused is refused before
    import uvicorn
    from fastapi import FastAPI

    from server.engine import Engine
    from server.memory_budget import MemoryBudget

_KEEP_ALIVE_S = 75  # longer than clients keep idle connections, so that they never meet one that has just been closed


@dataclasses.dataclass(frozen=True)
class Config:
    """Serve a vision-language policy over HTTP."""

    model_name_or_path: str = ""
    """Checkpoint folder in Hugging Face format (config.json, *.safetensors, tokenizer, processor). Empty: the starting
    policy that comes with the repository."""
    served_model_name: str = ""
    """Name that OpenAI clients may give as `model` beside the folder's own; it stays when /reload changes the weights.
    Empty: the name of the folder that is served first."""
    port: int = 8080
    """Port to listen on; 0 picks a free one."""
    host: str = "127.0.0.1"
    """Address to listen on; 0.0.0.0 serves every machine that reaches this one, so set ELCANO_API_KEY too."""
    api_key: str = ""
    """Bearer token that clients must send. Better set ELCANO_API_KEY, which other users of this machine cannot read."""
    device: str = "auto"
    """auto (the first GPU, else the CPU), cpu, cuda:0, ..."""
    replicas: int = 1
    """Server processes behind this port: one for each of the first N GPUs, or N on the CPU."""
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    """auto: float32 on CPU, else the checkpoint's own."""
    attn_implementation: Literal["sdpa", "eager"] = "sdpa"
    """Attention kernels; sdpa takes flash kernels where they fit."""
    max_batch_size: int = 16
    """Sequences generated at once."""
    max_queue: int = 256
    """Requests that may wait; further ones get status 429."""
    prefill_chunk: int = 256
    """Prompt tokens read in each step beside the decoding; more of them read prompts faster on a big GPU."""
    max_draft_tokens: int = 8
    """Tokens that are guessed beyond a reply's newest one, from its prompt and replies before it, and computed with it;
    replies stay the same, and take fewer steps. 0 switches this off."""
    kv_cache_gib: float | None = None
    """Memory for keys, values and image features, of running requests and of what may be reused; None: 2 GiB on a CPU,
    80 % of what the weights leave free on a GPU, measured anew when they change."""
    read_ahead: bool = True
    """Read what an episode's next prompt will begin with while its browser acts."""
    request_timeout_s: float = 600.0
    """Requests not answered by then get status 408; a request may ask for less by its own timeout_s."""
    max_body_mib: int = 256
    """Larger requests get status 413."""
    access_log: str = ""
    """File for one JSON line per request; - is the standard error."""
    adapters: tuple[str, ...] = ()
    """LoRA adapters as NAME=FOLDER (PEFT's format); requests name one by `adapter`, OpenAI clients by `model`."""
    load_in_4bit: bool = False
    """Quantise the language model to 4 bits; needs a GPU and bitsandbytes."""
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
    image_recipe: Literal["published", "keep"] = "keep"
    """What a released idefics2 sees that hf2mg.sh has not converted. published: what hf2mg.sh would write into it, 980
    pixels and no splitting; keep: what its files say. Other folders are served as they say."""
    image_size: int | None = None
    """Longest and shortest image edge in pixels, other than the model was trained with; None: what its folder says."""
    do_image_splitting: bool | None = None
    """Whether idefics2 also reads each image in quarters, other than it was trained; None: what its folder says."""


def main(config: Config) -> None:
    """Check what can be checked in no time, then load and serve."""
    least = {
        "max_batch_size": 1,
        "max_queue": 1,
        "replicas": 1,
        "prefill_chunk": 1,
        "max_draft_tokens": 0,
        "max_body_mib": 1,
    }
    for name, minimum in least.items():
        if getattr(config, name) < minimum:
            raise UserError(f"--{name} is {getattr(config, name)}; give at least {minimum}")
    if config.request_timeout_s <= 0 or (config.kv_cache_gib is not None and config.kv_cache_gib <= 0):
        raise UserError("--request_timeout_s and --kv_cache_gib must be more than 0")
    named_adapters(config)
    folder = check_folder(chosen_folder(config))
    cli.check_installed("torch", "transformers", "fastapi", "uvicorn")
    listener = bind(config.host, config.port)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # while loading; uvicorn drains first, then comes here too
    if config.replicas > 1:
        serve_replicas(config, folder, listener)
    else:
        serve(config, folder, listener)


def chosen_folder(config: Config) -> Path:
    """The folder that was named, else the starting policy's, which is then said on the standard error."""
    if config.model_name_or_path:
        return Path(config.model_name_or_path)
    folder = shipped(STARTING_POLICY, "give --model_name_or_path")
    print(
        f"no --model_name_or_path: taking the starting policy {short(folder)} (2.7 M parameters, knows no website yet)",
        file=sys.stderr,
    )
    return folder


def check_folder(folder: Path) -> Path:
    """Raises `UserError` unless `folder` looks like a checkpoint that can be served."""
    try:
        found = folder.is_dir()
    except OSError as error:
        raise UserError(f"--model_name_or_path: {error.strerror}") from None
    if not found:
        raise UserError(f"--model_name_or_path {folder}: no such folder")
    if not (folder / "config.json").is_file():
        raise UserError(f"--model_name_or_path {folder}: not a Hugging Face checkpoint (it has no config.json)")
    try:
        model_type = json.loads((folder / "config.json").read_text()).get("model_type")
    except (ValueError, AttributeError, RecursionError):
        raise UserError(f"{folder / 'config.json'}: not a model's configuration") from None
    if not isinstance(model_type, str) or model_type not in NAMES:
        raise UserError(f"--model_name_or_path {folder}: its model type {model_type!r} is none of {NAMES}")
    if not any(folder.glob("*.safetensors")):
        raise UserError(f"--model_name_or_path {folder}: no *.safetensors in it; pickled weights are not read")
    index = folder / "model.safetensors.index.json"
    if index.exists():
        check_index(index)
    return folder


def check_index(index: Path) -> None:
    """Raises `UserError` unless the weights lie where an index says, beside it."""
    try:
        names = set(read_json(index)["weight_map"].values())
        strange = next((name for name in names if Path(name).name != name), None)
    except (TypeError, KeyError, AttributeError) as error:
        raise UserError(f"{index}: not an index of weights ({error!r})") from None
    if strange is not None:
        raise UserError(f"{index}: {strange!r} is not the name of a file beside it")


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


def named_adapters(config: Config) -> dict[str, str]:
    """`--adapters` by name."""
    pairs = [adapter.partition("=") for adapter in config.adapters]
    for name, _, folder in pairs:
        if not name or not (Path(folder) / "adapter_config.json").is_file():
            raise UserError(f"--adapters {name}: give NAME=FOLDER, with an adapter_config.json in the folder")
    return {name: folder for name, _, folder in pairs}


def serve(config: Config, folder: Path, listener: socket.socket) -> None:
    """Load the model and serve until a signal."""
    from server.http_api import create_app
    from server.memory import return_freed_memory
    from server.sampling import SamplingParams
    from server.service import Service

    defaults = SamplingParams(**fields_for(SamplingParams, config))
    defaults.check()
    return_freed_memory()
    service = Service(  # which alone holds the engine, so that weights that are replaced leave the memory
        first_engine(config, folder),
        defaults,
        model_name=folder.resolve().name,
        load=lambda other, budget: load_engine(config, check_folder(other), budget),
        timeout_s=config.request_timeout_s,
        read_ahead=config.read_ahead,
        alias=config.served_model_name,
    )
    run(create_app(service, announcement(config, folder, listener)), config, listener)


def first_engine(config: Config, folder: Path) -> "Engine":
    """The engine that the server starts with; `UserError` when the machine is too small for it."""
    from server.memory import is_out_of_memory

    try:
        return load_engine(config, folder)
    except Exception as error:
        if not is_out_of_memory(error):
            raise
        raise UserError(f"{folder}: its weights do not fit into memory; take a larger GPU or --load_in_4bit") from None


def serve_replicas(config: Config, folder: Path, listener: socket.socket) -> None:
    """Run several of this server behind one port until a signal."""
    import torch

    from server.fleet import Fleet, Replica, replica_commands
    from server.replicas import create_router_app

    device = config.device
    if device in ("auto", "cuda"):
        device = "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cuda" and torch.cuda.device_count() < config.replicas:
        raise UserError(f"--replicas {config.replicas}: there are only {torch.cuda.device_count()} GPUs")
    arguments = [*sys.argv[1:], "--served_model_name", config.served_model_name or folder.resolve().name]
    fleet = Fleet([Replica(command) for command in replica_commands(arguments, config.replicas, device)], folder)
    fleet.start()
    app = create_router_app(
        fleet, announcement(config, folder, listener), config.max_batch_size, config.request_timeout_s
    )
    run(app, config, listener)


def announcement(config: Config, folder: Path, listener: socket.socket) -> Callable[[], None]:
    """What to do when ready: say so on the standard output."""
    address = f"http://{config.host}:{listener.getsockname()[1]}"
    return lambda: print(f"serving {folder} on {address}", flush=True)


def run(app: "FastAPI", config: Config, listener: socket.socket) -> None:
    """Serve an application behind what every request meets first; a SIGTERM drains it."""
    allow_many_descriptors()
    http_server(app, config).run(sockets=[listener])


def http_server(app: "FastAPI", config: Config) -> "uvicorn.Server":
    """The server of an application, with its walls."""
    import uvicorn

    from server.middleware import AccessLog, RequestLimits
    from server.slow_clients import PromptHTTPProtocol

    walls = {
        "api_key": config.api_key or os.environ.get("ELCANO_API_KEY", ""),
        "max_body_bytes": config.max_body_mib * 2**20,
        "body_timeout_s": config.request_timeout_s,
        "log": AccessLog(config.access_log),
    }
    app.add_middleware(RequestLimits, **walls)
    options = {"log_level": "warning", "access_log": False, "timeout_keep_alive": _KEEP_ALIVE_S}
    return uvicorn.Server(uvicorn.Config(app, http=PromptHTTPProtocol, **options))


def load_engine(config: Config, folder: Path, budget: "MemoryBudget | None" = None) -> "Engine":
    """The model in `folder` with an engine of its own; a `budget` is shared with the engine whose place it takes."""
    from server.engine import Engine, EngineConfig
    from server.memory_budget import MemoryBudget
    from server.vision_language_model import LoadOptions, VisionLanguageModel

    options = LoadOptions(**fields_for(LoadOptions, config) | {"adapters": named_adapters(config)})
    model = VisionLanguageModel(folder, options)
    if budget is None:
        fixed = None if config.kv_cache_gib is None else int(config.kv_cache_gib * 2**30)
        budget = MemoryBudget.of_device(model.device, fixed or EngineConfig.kv_cache_bytes, follow_free=fixed is None)
    return Engine(model, EngineConfig(**fields_for(EngineConfig, config)), budget)


def fields_for(kind: type, config: Config) -> dict[str, object]:
    """The fields of `config` that `kind` has too."""
    names = {field.name for field in dataclasses.fields(kind)}
    return {name: value for name, value in dataclasses.asdict(config).items() if name in names}


if __name__ == "__main__":
    hide_keys("ELCANO_API_KEY")
    cli.run(Config, main, description=__doc__)
