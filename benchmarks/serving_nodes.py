"""What the one URL before replicas on nodes costs a request, and what replicas bring.

    python -m benchmarks.serving_nodes --output docs/results/serving_nodes.json

**Entry**: a short request, one after another, to a server itself, to one through `--ray_address local --replicas 1`,
and to the same application under Ray Serve (where `ray[serve]` is installed), in turns. **Replicas**: agents that walk
through recorded episodes (`serving_traffic.py`) ask one replica and several, in turns; each has one thread. A reply is
as long as the recorded one. The share of prompt tokens that came from the prefix cache is `/metrics`' own.
"""

import contextlib
import dataclasses
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

import httpx

from benchmarks.serving_traffic import Request, agent
from common import cli
from common.defaults import ROOT, STARTING_POLICY
from common.files import write_json
from common.processes import die_with_parent, free_port
from server.engine.model.vision_language_model import LoadOptions, VisionLanguageModel

SERVER = ROOT / "server" / "hf_online_server.py"
SHORT = {"conversations": [{"role": "user", "content": "go"}], "max_new_tokens": 1, "min_new_tokens": 1}
_START_S = 300.0


@dataclasses.dataclass(frozen=True)
class Config:
    """Measure the entry before replicas."""

    repeats: int = 5
    """Turns of each side of the entry."""
    rounds: int = 3
    """Of one replica and several."""
    num_requests: int = 100
    """Short requests in a turn."""
    replicas: int = 2
    """Against one."""
    agents: int = 16
    """That ask at the same time."""
    steps: int = 4
    """Requests of each in a turn."""
    prompt_tokens: int = 1000
    """Of a request, about."""
    on: Literal["nodes", "machine"] = "nodes"
    """Whether Ray places the replicas, which wants a core for each, or they are processes of one server."""
    output: str = ""
    """A JSON file for the numbers."""


def main(config: Config) -> None:
    """Both tables."""
    found = {"entry_ms": entry(config), "replicas": replicas(config)}
    if config.output:
        write_json(Path(config.output), found)


def entry(config: Config) -> dict[str, list[float]]:
    """Median milliseconds of a short request, a turn each."""
    with contextlib.ExitStack() as stack:
        urls = {
            "server": stack.enter_context(served()),
            "entry": stack.enter_context(served("--ray_address", "local", "--replicas", "1")),
        }
        if find_spec("grpc_reflection"):  # of all that Serve wants, what comes with nothing else
            urls["ray serve"] = stack.enter_context(under_serve())
        clients = {side: stack.enter_context(httpx.Client(base_url=url, timeout=60)) for side, url in urls.items()}
        found: dict[str, list[float]] = {side: [] for side in urls}
        for turn in range(config.repeats + 1):
            for side, client in clients.items():
                taken = [timed(partial(ask, client, f"{turn}-{n}")) for n in range(config.num_requests)]
                if turn:  # the first one warms up
                    found[side].append(1000 * statistics.median(taken))
    for side, medians in found.items():
        print(f"{side:10} {said(medians)} ms a request", flush=True)
    for side in found.keys() - {"server"}:
        print(f"{side:10} {said([a - b for a, b in zip(found[side], found['server'], strict=True)])} ms more")
    return found


def replicas(config: Config) -> dict[str, dict[str, list[float]]]:
    """Requests a second, and the share of prompt tokens that came from the prefix cache, a turn each."""
    model = VisionLanguageModel(STARTING_POLICY, LoadOptions(device="cpu"))
    found: dict[str, dict[str, list[float]]] = {}
    for turn in range(config.rounds):
        numbers = range(turn * config.agents, (turn + 1) * config.agents)
        walks = [agent(number, config.steps, config.prompt_tokens, model, last_n=3) for number in numbers]
        for number in (1, config.replicas):
            where = ["--ray_address", "local"] if config.on == "nodes" else []
            with served(*where, "--replicas", str(number)) as url:
                rate, share = walked(url, walks)
            sides = found.setdefault(str(number), {"requests_per_s": [], "from_cache": []})
            sides["requests_per_s"].append(rate)
            sides["from_cache"].append(share)
            print(
                f"{number} replicas: {rate:.2f} requests/s, {share:.3f} of the prompts' tokens from the cache",
                flush=True,
            )
    return found


def walked(url: str, walks: list[list[Request]]) -> tuple[float, float]:
    """(requests a second, cached share of the prompt tokens) of agents that all ask at once."""

    def walk(requests: list[Request]) -> None:
        with httpx.Client(base_url=url, timeout=600) as client:
            for request in requests:
                length = {"max_new_tokens": len(request.reply_ids), "min_new_tokens": len(request.reply_ids)}
                body = {"conversations": request.turns, "images": request.images, "id": request.session, **length}
                client.post("/predict", json=body).raise_for_status()

    with ThreadPoolExecutor(len(walks)) as pool:
        elapsed_s = timed(lambda: list(pool.map(walk, walks)))
    text = httpx.get(f"{url}/metrics").text
    cached, read = (sum(map(float, re.findall(rf"^elcano_{name}_total\S* (\S+)$", text, re.M))) for name in _COUNTED)
    return sum(map(len, walks)) / elapsed_s, cached / read


_COUNTED = ("cached_tokens", "prompt_tokens")


def ask(client: httpx.Client, session: str) -> None:
    client.post("/predict", json={**SHORT, "id": session}).raise_for_status()


def timed(what: Callable[[], object]) -> float:
    begun = time.perf_counter()
    what()
    return time.perf_counter() - begun


def said(values: list[float]) -> str:
    return f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


@contextlib.contextmanager
def served(*flags: str) -> Iterator[str]:
    """Our server's URL."""
    command = [sys.executable, str(SERVER), "--port", "0", "--temperature", "0", *flags]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, preexec_fn=die_with_parent
    )
    try:
        yield process.stdout.readline().strip().rpartition(" on ")[2]
    finally:
        process.terminate()
        process.wait()


@contextlib.contextmanager
def under_serve() -> Iterator[str]:
    """Ray Serve's URL."""
    url = f"http://127.0.0.1:{(port := free_port())}"
    command = [sys.executable, "-m", "benchmarks.serve_deployment", str(port), str(STARTING_POLICY)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, preexec_fn=die_with_parent)
    try:
        deadline = time.monotonic() + _START_S
        while not _is_healthy(url):
            if process.poll() is not None or time.monotonic() > deadline:
                sys.exit("Ray Serve did not start")
            time.sleep(1)
        yield url
    finally:
        process.terminate()
        process.wait()


def _is_healthy(url: str) -> bool:
    try:
        return httpx.get(f"{url}/health").status_code == 200
    except httpx.HTTPError:
        return False


if __name__ == "__main__":
    cli.run(Config, main, description=__doc__)
