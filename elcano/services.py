"""Services: the HTTP processes a stage needs beside it, stopped whatever happens."""

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from data.task import SITES_PORT
from elcano.executors.executor import Command, Executor, python
from elcano.recipe import Serving


@contextlib.contextmanager
def embedded_sites(executor: Executor, log: Path) -> Iterator[int]:
    """The embedded websites, for browsers beside them: *.localhost is a browser's own machine; yields their port,
    the one that task files name where it is free."""

    def command(_: str, port: int) -> Command:
        return Command([sys.executable, "-m", "environments.sites", "--port", str(port)], log)

    with executor.service(command, "/health", wanted_port=SITES_PORT) as url:
        yield urlsplit(url).port


@contextlib.contextmanager
def embedded_teacher(executor: Executor, log: Path) -> Iterator[str]:
    """The embedded teacher; yields its OpenAI base URL."""

    def command(host: str, port: int) -> Command:
        return Command(python("environments/sites/expert/server.py", host=host, port=port), log)

    with executor.service(command, "/v1/models") as url:
        yield f"{url}/v1"


@contextlib.contextmanager
def policy_server(executor: Executor, policy: Path, serving: Serving, image_recipe: str, log: Path) -> Iterator[str]:
    """The inference server with `policy`, whose images it prepares as training will; yields its `/predict` URL."""

    def command(host: str, port: int) -> Command:
        words = python(
            "server/hf_online_server.py",
            model_name_or_path=policy,
            host=host,
            port=port,
            device=serving.device,
            dtype=serving.dtype,
            image_recipe=image_recipe,
            max_batch_size=serving.max_batch_size,
            max_new_tokens=serving.max_new_tokens,
        )
        return Command(words, log, {"OMP_NUM_THREADS": str(serving.num_threads)} if serving.num_threads else {})

    with executor.service(command, "/health") as url:
        yield f"{url}/predict"
