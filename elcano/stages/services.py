"""Services: the HTTP processes a stage needs beside it, stopped whatever happens."""

import contextlib
import dataclasses
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from common.options.flags import flags
from data.task import SITES_PORT
from elcano.executors.executor import Command, Executor, python
from elcano.recipe import expert_of
from elcano.resources import Resources
from server.config import ServerConfig


@contextlib.contextmanager
def embedded_sites(executor: Executor, log: Path) -> Iterator[int]:
    """The embedded websites, for browsers beside them: *.localhost is a browser's own machine; yields their port,
    the one that task files name where it is free."""

    def command(_: str, port: int) -> Command:
        return Command([sys.executable, "-m", "environments.sites", "--port", str(port)], log)

    with executor.service(command, "/health", wanted_port=SITES_PORT) as url:
        port = urlsplit(url).port
        assert port is not None  # the executor chose it
        yield port


@contextlib.contextmanager
def embedded_teacher(executor: Executor, log: Path, world: str = "sites") -> Iterator[str]:
    """The expert of this world; yields its OpenAI base URL."""

    def command(host: str, port: int) -> Command:
        return Command(python(expert_of(world), host=host, port=port), log)

    with executor.service(command, "/v1/models") as url:
        yield f"{url}/v1"


@contextlib.contextmanager
def embedded_model(executor: Executor, model: Literal["judge", "proposer"], log: Path) -> Iterator[str]:
    """The embedded stand-in for a model; yields its OpenAI base URL."""

    def command(_: str, port: int) -> Command:
        return Command(python("collection/stand_in.py", model=model, port=port), log)

    with executor.service(command, "/v1/models") as url:
        yield f"{url}/v1"


@contextlib.contextmanager
def policy_server(
    executor: Executor, policy: Path, serving: ServerConfig, resources: Resources, log: Path
) -> Iterator[str]:
    """The inference server with `policy`; yields its `/predict` URL."""

    def command(host: str, port: int) -> Command:
        config = dataclasses.replace(serving, model_name_or_path=str(policy), host=host, port=port)
        return Command(python("server/hf_online_server.py", *flags(config)), log)

    with executor.service(command, "/health", resources) as url:
        yield f"{url}/predict"
