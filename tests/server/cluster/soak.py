"""A server under agents that hang up at random while its weights are changed again and again.

    python -m tests.server.cluster.soak --duration_s 3600 --output soak.json
    python -m tests.server.cluster.soak --replicas 2 --kill_every_s 45
    python -m tests.server.cluster.soak --starve_every 40

Every client walks through the steps of its episodes, and knows the greedy reply of each weights version to each of its
prompts (asked beforehand, one at a time). A reply is crossed when its text is not its version's, and of a wrong version
when that version was not served at any time between question and reply. Memory and descriptors of every process are
sampled all along. With replicas, one after the other is killed; a starved server runs out of memory again and again
(`starved_server.py`). What either refuses with 503 is asked again as a collector would.
"""

import asyncio
import base64
import collections
import contextlib
import dataclasses
import io
import math
import os
import random
import re
import shutil
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx
import psutil
from PIL import Image
from rich.console import Console
from safetensors.torch import load_file, save_file

from collection.endpoints.keys import own_server_headers
from common import cli
from common.defaults import STARTING_POLICY
from common.errors import UserError
from common.files import write_json
from data.conversation import StepText, build_conversation
from tests.server.helpers import RunningServer, running_server

NUM_STEPS = 4
SAMPLE_S = 2.0


@dataclasses.dataclass(frozen=True)
class Config:
    """Soak a server of its own."""

    model_name_or_path: str = str(STARTING_POLICY)
    """Checkpoint folder; a second one with other weights is made from it."""
    device: str = "cpu"
    """cpu, cuda:0; always in float32, where a reply does not depend on what else is in its batch."""
    duration_s: float = 3600.0
    """How long."""
    num_clients: int = 32
    """Agents at the same time."""
    num_episodes: int = 8
    """Different episodes, which the agents take in random order."""
    reload_every_s: float = 60.0
    """Time between two changes of the weights."""
    replicas: int = 1
    """Server processes behind one address."""
    kill_every_s: float = 0.0
    """Time between two kills (SIGKILL) of a replica; 0: none."""
    starve_every: int = 0
    """Passes of the model between two that run out of memory; 0: none does."""
    disconnect_rate: float = 0.1
    """Share of requests that are given up after a random time."""
    seed: int = 0
    """Of the traffic."""
    output: str = ""
    """A JSON file for the numbers."""


def other_weights(folder: Path, target: Path) -> Path:
    """A copy of a checkpoint whose replies differ: its language model's layers are a little larger."""
    shutil.copytree(folder, target)
    for path in target.glob("*.safetensors"):
        weights = load_file(path)
        changed = {name: value * 1.15 if "text_model.layers" in name else value for name, value in weights.items()}
        save_file({name: value.contiguous() for name, value in changed.items()}, path, metadata={"format": "pt"})
    return target


def requests_of(number: int) -> list[dict[str, Any]]:
    """The bodies of an episode's steps."""
    rng = random.Random(number)
    words = "red blue shoe book train rome search offer cheap sign menu cart topic ticket".split()
    trees = [
        "\n".join(f"\t[{i}] link '{rng.choice(words)} {rng.choice(words)}'" for i in range(1, rng.randint(8, 20)))
        for _ in range(NUM_STEPS)
    ]
    images = []
    for _ in range(NUM_STEPS):
        buffer = io.BytesIO()
        Image.effect_noise((320, 240), rng.randint(10, 90)).convert("RGB").save(buffer, "PNG")
        images.append(base64.b64encode(buffer.getvalue()).decode())
    bodies = []
    for step in range(1, NUM_STEPS + 1):
        said = f"Thought: I look for {number}.\n\nAction: Click [3]"
        texts = [StepText(tree, reply=said if i < step else None) for i, tree in enumerate(trees[:step], start=1)]
        conversation = build_conversation(f'Find "{rng.choice(words)}".', texts, 3)
        turns = [{"role": turn.role, "content": turn.text} for turn in conversation.turns]
        shown = [images[index - 1] for index in conversation.image_steps]
        bodies.append({"conversations": turns, "images": shown, "temperature": 0, "max_new_tokens": 24})
    return bodies


@dataclasses.dataclass
class Span:
    """Weights that were asked for at `begin`; from `done` on nothing else is served. Times in seconds."""

    folder: Path
    begin: float
    done: float = math.inf
    version: str = ""


class Soak:
    """A server with two sets of weights, and what its clients were told."""

    def __init__(self, config: Config, server: RunningServer, folders: list[Path]):
        self.config, self.folders, self.process = config, folders, server.process
        limits = httpx.Limits(max_connections=None)
        self.client = httpx.AsyncClient(base_url=server.url, timeout=600, limits=limits, headers=own_server_headers())
        self.episodes = [requests_of(number) for number in range(config.num_episodes)]
        self.expected: dict[str, dict[tuple[int, int], str]] = {}
        self.spans: list[Span] = []
        self.counts: collections.Counter[str] = collections.Counter()
        self.rss_mb: list[float] = []
        self.descriptors: list[int] = []
        self.examples: list[str] = []

    async def run(self) -> dict[str, Any]:
        """Learn what is right, then soak."""
        for folder in reversed(self.folders):
            version = await self._reload(folder)
            self.expected[version] = {
                (number, step): (await self._ask(body))[0].json()["text"]
                for number, bodies in enumerate(self.episodes)
                for step, body in enumerate(bodies)
            }
        one, other = self.expected.values()
        if one == other:
            raise UserError("both weights reply alike; the soak would see nothing")
        begin = time.monotonic()
        end = begin + self.config.duration_s
        tasks = [self._client(number, end) for number in range(self.config.num_clients)]
        await asyncio.gather(*tasks, self._change(end), self._kill(end), self._sample(end))
        seconds = time.monotonic() - begin
        health, metrics = (await self.client.get("/health")).json(), (await self.client.get("/metrics")).text
        await self.client.aclose()
        quarter = max(1, len(self.rss_mb) // 4)
        early, late = (statistics.mean(part) for part in (self.rss_mb[quarter : 2 * quarter], self.rss_mb[-quarter:]))
        return {
            "seconds": round(seconds),
            **{
                name: self.counts[name]
                for name in (
                    *("replies", "crossed", "wrong_version", "errors", "hung_up", "asked_again"),
                    *("reloads", "reloads_refused", "kills"),
                )
            },
            "out_of_memory": int(re.search(r"^elcano_out_of_memory_total (\d+)", metrics, re.MULTILINE)[1]),
            "replies_that_differ_between_weights": sum(one[key] != other[key] for key in one),
            "requests_per_s": round(self.counts["replies"] / seconds, 2),
            "rss_mb_second_quarter": round(early),
            "rss_mb_last_quarter": round(late),
            "rss_mb_max": round(max(self.rss_mb)),
            "rss_mb_each_30_s": [round(mb) for mb in self.rss_mb[:: round(30 / SAMPLE_S)]],
            "descriptors_second_quarter": round(statistics.mean(self.descriptors[quarter : 2 * quarter])),
            "descriptors_last_quarter": round(statistics.mean(self.descriptors[-quarter:])),
            "load": [round(value, 1) for value in os.getloadavg()],
            "still_running_or_waiting": health["num_running"] + health["num_waiting"],
            "examples": self.examples[:5],
        }

    async def _client(self, number: int, end: float) -> None:
        rng = random.Random(f"{self.config.seed} {number}")
        visit = 0
        while time.monotonic() < end:
            episode, visit = rng.randrange(len(self.episodes)), visit + 1
            for step, body in enumerate(self.episodes[episode]):
                asking = self._ask(body | {"id": f"client {number} visit {visit}"})
                if rng.random() < self.config.disconnect_rate:
                    try:
                        await asyncio.wait_for(asking, rng.uniform(0.001, 2.0))
                    except TimeoutError:
                        self.counts["hung_up"] += 1
                        continue
                    self.counts["replies"] += 1
                    continue
                self._judge(*await asking, (episode, step))
                if time.monotonic() > end:
                    return

    async def _ask(self, body: dict[str, Any]) -> tuple[httpx.Response, float]:
        """The answer, and when it was asked for; what a server that is harmed refuses for now is asked again."""
        while True:
            asked = time.monotonic()
            answer = await self.client.post("/predict", json=body)
            if answer.status_code not in (502, 503) or not (self.config.kill_every_s or self.config.starve_every):
                return answer, asked
            self.counts["asked_again"] += 1
            await asyncio.sleep(0.5)

    def _judge(self, answer: httpx.Response, asked: float, key: tuple[int, int]) -> None:
        self.counts["replies"] += 1
        if answer.status_code != 200:
            self.counts["errors"] += 1
            self.examples.append(f"{answer.status_code} {answer.text[:200]}")
            return
        reply = answer.json()
        version = reply["weights_version"]
        now, ends = time.monotonic(), [span.done for span in self.spans[1:]] + [math.inf]
        names = {span.folder: span.version for span in self.spans if span.version}
        possible = {
            names[span.folder] for span, end in zip(self.spans, ends, strict=True) if span.begin <= now and end >= asked
        }
        if version not in possible:
            self.counts["wrong_version"] += 1
        elif reply["text"] != self.expected[version][key]:
            self.counts["crossed"] += 1
            self.examples.append(f"{key}: {reply['text'][:100]!r}, not {self.expected[version][key][:100]!r}")

    async def _change(self, end: float) -> None:
        for folder in [self.folders[1], self.folders[0]] * 10_000:
            await asyncio.sleep(min(self.config.reload_every_s, max(0.0, end - time.monotonic())))
            if time.monotonic() >= end:
                return
            await self._reload(folder)
            self.counts["reloads"] += 1

    async def _kill(self, end: float) -> None:
        """One replica after the other, while the others serve."""
        number = 0
        while self.config.kill_every_s and time.monotonic() + self.config.kill_every_s < end:
            await asyncio.sleep(self.config.kill_every_s)
            replicas = psutil.Process(self.process.pid).children()
            if replicas:
                replicas[number % len(replicas)].kill()
                number += 1
                self.counts["kills"] += 1

    async def _reload(self, folder: Path) -> str:
        span = Span(folder, time.monotonic())
        self.spans.append(span)
        while True:
            answer = await self.client.post("/reload", json={"model_name_or_path": str(folder)})
            if answer.status_code == 200:
                break
            self.counts["reloads_refused"] += 1  # the replicas are starting just now
            await asyncio.sleep(1.0)
        span.version, span.done = answer.json()["weights_version"], time.monotonic()
        return span.version

    async def _sample(self, end: float) -> None:
        process = psutil.Process(self.process.pid)
        while time.monotonic() < end:
            family = [process, *process.children()]
            with contextlib.suppress(psutil.NoSuchProcess):  # a replica that was killed just now
                self.rss_mb.append(sum(one.memory_info().rss for one in family) / 2**20)
                self.descriptors.append(sum(one.num_fds() for one in family))
            await asyncio.sleep(SAMPLE_S)


def soak(config: Config) -> dict[str, Any]:
    """The report of a soak."""
    flags = ["--device", config.device, "--dtype", "float32", "--replicas", str(config.replicas)]
    flags += ["--max_batch_size", "16", "--kv_cache_gib", "0.5"]
    first = Path(config.model_name_or_path)
    starved = ("-m", "tests.server.engine.starved_server", str(config.starve_every))
    program = {"program": starved} if config.starve_every else {}
    with tempfile.TemporaryDirectory() as scratch, running_server(first, *flags, **program) as server:
        folders = [first, other_weights(first, Path(scratch) / "other")]
        return asyncio.run(Soak(config, server, folders).run())


def main(config: Config) -> int:
    """Soak; exit code 1 when a reply was not what it should have been, or memory never ran out though it should."""
    report = soak(config)
    Console().print_json(data=report)
    if config.output:
        write_json(Path(config.output), report)
    is_wrong = report["crossed"] or report["wrong_version"] or report["errors"]
    return int(bool(is_wrong or (config.starve_every and not report["out_of_memory"])))


if __name__ == "__main__":
    cli.run(Config, main, description=__doc__)
