"""The HTTP inference server: serves a Hugging Face checkpoint folder to many browsers at once.

    python server/hf_online_server.py --model_name_or_path DIR --port 8080
    python server/hf_online_server.py --port 8080          the starting policy that comes with the repository

Prints `serving DIR on http://host:port` when ready; SIGTERM finishes the requests under way and ends. How images are
prepared, the checkpoint's processor files say; hf2mg.sh writes OpenWebVoyager's values into them, and a released folder
that never went through it wants `--image_recipe published`. OMP_NUM_THREADS sets a CPU's threads.
Replies are drawn at temperature 1.2 for exploration, as published; for evaluation give `--temperature 0`.
"""

import ipaddress
import os
import secrets
import signal
import socket
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from runpy import run_path
from typing import TYPE_CHECKING, Any

try:
    from common import cli
    from common.defaults import STARTING_POLICY, shipped, short
    from common.errors import UserError
    from common.garbage import unsearched
    from common.options.flags import narrowed
    from common.options.key_flags import hide_keys
    from common.processes import allow_many_descriptors, listen, threads_each
    from data.checkpoint_folder import is_megatron
    from models.checkpoint.adapter_config import base_of, is_adapter
    from models.checkpoint.weight_files import check_metadata, find_weight_files
    from models.registry import family
    from server.config import ServerConfig
except ModuleNotFoundError as missing:  # not the python of the virtual environment
    sys.exit(run_path(str(Path(__file__).resolve().parents[1] / "common" / "not_installed.py"))["say"](missing))

if TYPE_CHECKING:  # torch takes seconds to import; what can be refused is refused before
    import uvicorn
    from fastapi import FastAPI

    from server.cluster.fleet import Replica
    from server.engine.engine import Engine
    from server.engine.memory.memory_budget import MemoryBudget

_KEEP_ALIVE_S = 75  # longer than clients keep idle connections, so that they never meet one that has just been closed


def main(config: ServerConfig) -> None:
    """Check what can be checked in no time, then load and serve."""
    named_adapters(config)
    folder = check_folder(chosen_folder(config))
    cli.check_installed("torch", "transformers", "fastapi", "uvicorn")
    listener = listen(config.port, config.host)  # before anything heavy is loaded
    warn_of_strangers(config, listener)
    end_at_sigterm()  # while loading; uvicorn drains first, then comes here too
    if config.replicas > 1 or config.ray_address:
        serve_replicas(config, folder, listener)
    else:
        serve(config, folder, listener)


def end_at_sigterm() -> None:
    """With code 0."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))


def chosen_folder(config: ServerConfig) -> Path:
    """The folder that was named, else the starting policy's, which is then said on the standard error."""
    if config.model_name_or_path:
        return Path(config.model_name_or_path)
    folder = shipped(STARTING_POLICY, "give --model_name_or_path")
    print(
        f"no --model_name_or_path: taking the starting policy {short(folder)} (2.7 M parameters, knows no website yet)",
        file=sys.stderr,
    )
    return folder


def check_folder(folder: Path, named: str = "--model_name_or_path") -> Path:
    """Raises `UserError`, which says where the folder was `named`, unless it looks like a checkpoint to serve; what is
    wrong with its files is said as the converters say it."""
    try:
        found = folder.is_dir()
    except OSError as error:
        raise UserError(f"{named}: {error.strerror}") from None
    if not found:
        where = "" if folder.is_absolute() else f" in {Path.cwd()}, the server's own folder"
        raise UserError(f"{named} {folder}: no such folder{where}")
    if is_adapter(folder):
        base = base_of(folder)
        if base is None:
            raise UserError(
                f"{named} {folder}: an adapter whose model is not here; serve that with --adapters NAME={folder}"
            )
        check_folder(base, f"the base of {named}")
        return folder
    if is_megatron(folder):
        raise UserError(
            f"{named} {folder}: this is a Megatron checkpoint; make a Hugging Face one of it: "
            f"bash toolkits/model_checkpoints_convertor/mg2hf.sh --load_path {folder} --save_path HF_DIR"
        )
    if not (folder / "config.json").is_file():
        raise UserError(f"{named} {folder}: not a Hugging Face checkpoint (it has no config.json)")
    family(folder)
    files = find_weight_files(folder)
    if files.are_pickles:
        raise UserError(
            f"{named} {folder}: has no *.safetensors, and pickled weights are not read; hf2mg.sh and mg2hf.sh of "
            "toolkits/model_checkpoints_convertor/ make safetensors of them"
        )
    check_metadata(files)
    return folder


def warn_of_strangers(config: ServerConfig, listener: socket.socket) -> None:
    """One line on the standard error where other machines reach a server that asks for no key."""
    address = ipaddress.ip_address(listener.getsockname()[0].partition("%")[0])
    if not key_of(config) and not address.is_loopback:
        print(
            f"warning: --host {config.host} without a key: whoever reaches it may use it, /reload too; "
            "set ELCANO_API_KEY or --api_key",
            file=sys.stderr,
        )


def key_of(config: ServerConfig) -> str:
    """What clients must send; empty: nothing."""
    return config.api_key or os.environ.get("ELCANO_API_KEY", "")


def named_adapters(config: ServerConfig) -> dict[str, str]:
    """`--adapters` by name."""
    pairs = [adapter.partition("=") for adapter in config.adapters]
    for name, _, folder in pairs:
        if not name or not (Path(folder) / "adapter_config.json").is_file():
            raise UserError(f"--adapters {name}: give NAME=FOLDER, with an adapter_config.json in the folder")
    return {name: folder for name, _, folder in pairs}


def serve(config: ServerConfig, folder: Path, listener: socket.socket) -> None:
    """Load the model and serve until a signal."""
    with unsearched():
        from server.engine.memory.release import return_freed_memory
        from server.engine.sampling import SamplingParams
        from server.protocols.http_api import create_app
        from server.service import Service
    defaults = narrowed(SamplingParams, config)
    return_freed_memory()
    service = Service(  # which alone holds the engine, so that weights that are replaced leave the memory
        first_engine(config, folder),
        defaults,
        model_name=folder.resolve().name,
        load=lambda other, budget: load_engine(config, check_folder(other, "model_name_or_path"), budget),
        timeout_s=config.request_timeout_s,
        read_ahead=config.read_ahead,
        alias=config.served_model_name,
    )
    run(create_app(service, announcement(config, folder, listener)), config, listener)


def first_engine(config: ServerConfig, folder: Path) -> "Engine":
    """The engine that the server starts with; `UserError` when the machine is too small for it."""
    from server.engine.memory.release import is_out_of_memory

    try:
        return load_engine(config, folder)
    except Exception as error:
        if not is_out_of_memory(error):
            raise
        raise UserError(f"{folder}: its weights do not fit into memory; take a larger GPU or --load_in_4bit") from None


def serve_replicas(config: ServerConfig, folder: Path, listener: socket.socket) -> None:
    """Run several of this server behind one port until a signal."""
    from server.cluster.fleet import Fleet
    from server.cluster.replicas import create_router_app

    arguments = [*sys.argv[1:], f"--served_model_name={config.served_model_name or folder.resolve().name}"]
    if config.ray_address:
        replicas, key = replicas_on_nodes(config, arguments)
    else:
        replicas, key = replicas_here(config, arguments), key_of(config)
    fleet = Fleet(replicas, folder)
    fleet.start()
    ready = announcement(config, folder, listener)
    run(create_router_app(fleet, ready, config.max_batch_size, config.request_timeout_s, key), config, listener)


def replicas_here(config: ServerConfig, arguments: list[str]) -> list["Replica"]:
    """On this machine, each with a GPU of its own where there are any, else with its part of the cores: threads that
    compete for them wait for each other at each layer."""
    import torch

    from server.cluster.fleet import Replica, replica_command

    device = config.device
    if device in ("auto", "cuda"):
        device = "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cuda" and torch.cuda.device_count() < config.replicas:
        raise UserError(f"--replicas {config.replicas}: there are only {torch.cuda.device_count()} GPUs")
    if device == "cpu":
        os.environ.setdefault("OMP_NUM_THREADS", threads_each(config.replicas))
    devices = [f"cuda:{number}" if device == "cuda" else device for number in range(config.replicas)]
    return [Replica(replica_command(arguments, "--host", "127.0.0.1", "--device", one)) for one in devices]


def replicas_on_nodes(config: ServerConfig, arguments: list[str]) -> tuple[list["Replica"], str]:
    """On the nodes of a Ray cluster, and the key that they ask for: others reach them, too."""
    from common.ray_cluster.settings import prepare

    said = f"--ray_address {config.ray_address}"
    prepare(config.ray_address, said)
    from common.ray_cluster import cluster  # only now: Ray reads its settings as it is imported
    from server.cluster.fleet import Replica, replica_command
    from server.cluster.node_process import NodeProcess, free_room, needs_of, room

    cluster.join(config.ray_address, said)
    end_at_sigterm()  # Ray has its own way
    threads = os.environ.get("OMP_NUM_THREADS", "")
    needs = needs_of(config.device, int(threads) if threads.isdigit() and int(threads) else 1)
    if (fit := room(needs)) < config.replicas:
        each = "a GPU" if needs["num_gpus"] else f"{needs['num_cpus']} cores (OMP_NUM_THREADS)"
        raise UserError(
            f"{said}: its nodes have room for {fit} replicas of {each} each, not --replicas {config.replicas}"
        )
    if (free := free_room(needs)) < config.replicas:
        line = f"{said}: at most {free} of {config.replicas} replicas find room now; waiting until others give it back"
        print(line, file=sys.stderr, flush=True)
    key = key_of(config) or secrets.token_urlsafe(24)
    threads = threads or str(needs["num_cpus"] or "")
    launch = partial(NodeProcess, needs=needs, variables={"ELCANO_API_KEY": key, "OMP_NUM_THREADS": threads})
    command = replica_command(arguments, "--ray_address", "")
    return [Replica(command, launch) for _ in range(config.replicas)], key


def announcement(config: ServerConfig, folder: Path, listener: socket.socket) -> Callable[[], None]:
    """What to do when ready: say so on the standard output."""
    address = f"http://{config.host}:{listener.getsockname()[1]}"
    return lambda: print(f"serving {folder} on {address}", flush=True)


def run(app: "FastAPI", config: ServerConfig, listener: socket.socket) -> None:
    """Serve an application behind what every request meets first; a SIGTERM drains it."""
    allow_many_descriptors()
    http_server(app, config).run(sockets=[listener])


def http_server(app: "FastAPI", config: ServerConfig) -> "uvicorn.Server":
    """The server of an application, with its walls."""
    import uvicorn

    from server.protocols.middleware import AccessLog, RequestLimits
    from server.protocols.slow_clients import PromptHTTPProtocol

    app.add_middleware(
        RequestLimits,
        api_key=key_of(config),
        max_body_bytes=config.max_body_mib * 2**20,
        body_timeout_s=config.request_timeout_s,
        log=AccessLog(config.access_log),
        host=config.host,
    )
    options: dict[str, Any] = {"log_level": "warning", "access_log": False, "timeout_keep_alive": _KEEP_ALIVE_S}
    return uvicorn.Server(uvicorn.Config(app, http=PromptHTTPProtocol, **options))


def load_engine(config: ServerConfig, folder: Path, budget: "MemoryBudget | None" = None) -> "Engine":
    """The model in `folder` with an engine of its own; a `budget` is shared with the engine whose place it takes."""
    from server.engine.engine import Engine, EngineConfig
    from server.engine.memory.memory_budget import MemoryBudget
    from server.engine.model.vision_language_model import LoadOptions, VisionLanguageModel

    options = narrowed(LoadOptions, config, adapters=named_adapters(config))
    adapter = is_adapter(folder)
    model = VisionLanguageModel(base_of(folder) or folder if adapter else folder, options)
    if adapter:
        model.adopt(folder)
    if budget is None:
        fixed = None if config.kv_cache_gib is None else int(config.kv_cache_gib * 2**30)
        budget = MemoryBudget.of_device(model.device, fixed or EngineConfig.kv_cache_bytes, follow_free=fixed is None)
    return Engine(model, narrowed(EngineConfig, config), budget)


if __name__ == "__main__":
    hide_keys("ELCANO_API_KEY")
    cli.run(ServerConfig, main, description=__doc__)
