"""Services: the HTTP processes a stage needs beside it, started on free ports and stopped whatever happens."""

import contextlib
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from common.errors import UserError
from common.processes import die_with_parent, free_port
from data.task import SITES_PORT
from elcano.recipe import ROOT, Serving
from elcano.stage import console, last_words, python

START_TIMEOUT_S = 300.0


@contextlib.contextmanager
def service(command: list[str], health_url: str, log: Path, env: dict[str, str] | None = None) -> Iterator[None]:
    """Run `command` until the block ends; enter the block once `health_url` answers."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with open(log, "a") as file:
        process = subprocess.Popen(
            command,
            stdout=file,
            stderr=subprocess.STDOUT,
            cwd=ROOT,
            env={**os.environ, **(env or {})},
            start_new_session=True,  # Ctrl-C is for the stage: a collector whose websites end first takes it for faults
            preexec_fn=die_with_parent,
        )
    try:
        _wait_until_healthy(process, health_url, log)
        yield
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_until_healthy(process: subprocess.Popen, url: str, log: Path) -> None:
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise UserError(f"a service ended at start with code {process.returncode}: {last_words(log)} (log: {log})")
        with contextlib.suppress(urllib.error.URLError, OSError), urllib.request.urlopen(url, timeout=5):
            return
        time.sleep(0.1)
    raise UserError(f"no answer from {url} within {START_TIMEOUT_S:.0f} s (log: {log})")


@contextlib.contextmanager
def embedded_sites(log: Path) -> Iterator[int]:
    """The embedded websites; yields their port, the one that task files name where it is free."""
    port = free_port(SITES_PORT)
    with service(
        [sys.executable, "-m", "environments.sites", "--port", str(port)], f"http://127.0.0.1:{port}/health", log
    ):
        yield port


@contextlib.contextmanager
def embedded_teacher(log: Path) -> Iterator[str]:
    """The embedded teacher; yields its OpenAI base URL."""
    port = free_port()
    command = python("environments/sites/expert/server.py", port=port)
    with service(command, f"http://127.0.0.1:{port}/v1/models", log):
        yield f"http://127.0.0.1:{port}/v1"


@contextlib.contextmanager
def policy_server(policy: Path, serving: Serving, image_recipe: str, log: Path) -> Iterator[str]:
    """The inference server with `policy`, whose images it prepares as training will; yields its `/predict` URL."""
    port = free_port()
    command = python(
        "server/hf_online_server.py",
        model_name_or_path=policy,
        port=port,
        device=serving.device,
        dtype=serving.dtype,
        image_recipe=image_recipe,
        max_batch_size=serving.max_batch_size,
        max_new_tokens=serving.max_new_tokens,
    )
    console.print(f"  [dim]$ {' '.join(command)} &[/dim]", soft_wrap=True)
    env = {"OMP_NUM_THREADS": str(serving.num_threads)} if serving.num_threads else {}
    with service(command, f"http://127.0.0.1:{port}/health", log, env):
        yield f"http://127.0.0.1:{port}/predict"
