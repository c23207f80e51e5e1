"""Requests per second of our engine against the published server's logic and fixed-window micro-batching.

    python benchmarks/serving.py --output docs/results/serving.json   # all, about 25 minutes on 2 quiet cores
    python benchmarks/serving.py --settings 16x1000              # 16 agents, prompts of about 1000 tokens
    python benchmarks/serving.py --quick                         # a small one, seconds
    python benchmarks/serving.py --model_name_or_path idefics2-8b --device cuda:0 --settings 1x4000 16x4000 64x4000 \
        --num_workers 1 --max_batch_size 64 --prefill_chunk 1024 --kv_cache_gib 60      # a GPU

All sides run the same model and traffic (`serving_traffic.py`: recorded episodes, every agent's its own), without HTTP.
They take turns, repeat by repeat, each from an empty cache, and each is waited for until its last reply. Agents walk
through episodes: each step sends the conversation so far in OpenWebVoyager's form with its newest screenshots, waits
for the reply and goes on at once. Decoding is greedy; what the model would have said at each place of the recorded
replies is compared. CPU time is the process's. Prints requests per second; JSON has the rest, and a PNG lies beside it.
"""

import dataclasses
import math
import statistics
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal

import psutil
import torch

sys.path[0] = str(Path(__file__).resolve().parent.parent)  # a file beside this one bears the name of a room

from benchmarks import serving_traffic
from benchmarks.figures import Figure, Load, plain, watched
from benchmarks.serving_baselines import MicroBatching, Published
from benchmarks.serving_ours import Ours
from benchmarks.serving_traffic import Request
from common import cli
from common.errors import UserError
from common.files import write_json
from common.shown.drawing import drawing
from server.engine.engine import EngineConfig
from server.engine.model.vision_language_model import LoadOptions, VisionLanguageModel
from server.hf_online_server import check_folder

Side = Literal[
    "published",
    "micro_batching",
    "ours_without_drafts",
    "ours_without_caches",
    "ours_without_prefixes",
    "ours_without_features",
    "ours",
]
BASELINES: tuple[Side, ...] = ("published", "micro_batching")
_FEW = 8  # requests that a measurement has at least


@dataclasses.dataclass(frozen=True)
class Config:
    """Compare serving engines on the same model and traffic."""

    model_name_or_path: str = "examples/quickstart/starting_policy/weights"
    """Checkpoint folder."""
    device: str = "auto"
    """auto, cpu, cuda:0."""
    settings: tuple[str, ...] = (
        *("1x500", "4x500", "16x500", "1x1000", "4x1000", "16x1000", "64x1000", "1x4000", "4x4000", "16x4000"),
    )
    """Agents that ask at the same time x about as many tokens in each prompt."""
    num_requests: int = 2
    """Of each agent; agents so few that this makes less than 8 in all ask more."""
    repeats: int = 3
    """Every side's turns in a setting."""
    last_n: int = 3
    """Newest screenshots attached."""
    num_workers: int = 2
    """Engines of ours and micro-batching workers, over the same weights: one for each core, or 1 on a GPU."""
    max_batch_size: int = 16
    """Slots of an engine, and most requests of a micro-batch."""
    prefill_chunk: int = 256
    """Prompt tokens that our engine reads in a step."""
    kv_cache_gib: float = 2.0
    """Keys, values and features that an engine of ours keeps."""
    sides: tuple[Side, ...] = ("published", "micro_batching", "ours_without_drafts", "ours")
    """What is measured."""
    quick: bool = False
    """Two agents with short prompts, once: whether it runs."""
    output: str = ""
    """A JSON file for the numbers; a plot goes beside it."""

    def __post_init__(self) -> None:
        for setting in self.settings:
            agents, _, tokens = setting.partition("x")
            if not (agents.isdigit() and tokens.isdigit() and int(agents) and int(tokens)):
                raise UserError(f"--settings {setting}: write agents x prompt tokens, such as 16x1000")

    @property
    def cells(self) -> list[tuple[int, int]]:
        """(agents, prompt tokens)."""
        settings = ("2x300",) if self.quick else self.settings
        return [tuple(map(int, setting.split("x"))) for setting in settings]  # type: ignore[misc]


@dataclasses.dataclass
class Measured:
    """A side in a setting, one entry a repeat."""

    side: str
    agents: int
    prompt_tokens: int
    requests_per_s: list[float] = dataclasses.field(default_factory=list)
    requests_per_cpu_s: list[float] = dataclasses.field(default_factory=list)
    p50_s: list[float] = dataclasses.field(default_factory=list)
    p95_s: list[float] = dataclasses.field(default_factory=list)
    choices: list[list[int]] = dataclasses.field(default_factory=list)
    rates: dict[str, float] = dataclasses.field(default_factory=dict)
    peak_rss_mb: int = 0

    def take(self, side: Any, traffic: list[list[Request]]) -> float:
        """One agent for each list, all at once, until the last reply; returns the seconds."""
        latencies: list[float] = []

        def agent(requests: list[Request]) -> list[list[int]]:
            replies = []
            for request in requests:
                begin = time.perf_counter()
                replies.append(side.answer(request))
                latencies.append(time.perf_counter() - begin)
            return replies

        begin, cpu_begin = time.perf_counter(), time.process_time()
        with ThreadPoolExecutor(len(traffic)) as pool:
            replies = list(pool.map(agent, traffic))
        wall, cpu = time.perf_counter() - begin, time.process_time() - cpu_begin
        self.requests_per_s.append(len(latencies) / wall)
        self.requests_per_cpu_s.append(len(latencies) / cpu)
        self.p50_s.append(statistics.median(latencies))
        self.p95_s.append(sorted(latencies)[math.ceil(0.95 * len(latencies)) - 1])
        self.choices = [reply for one in replies for reply in one]
        self.peak_rss_mb = max(self.peak_rss_mb, round(psutil.Process().memory_info().rss / 2**20))
        return wall


def start(name: Side, model: VisionLanguageModel, config: Config) -> Any:
    """A side, empty."""
    if name == "published":
        return Published(model)
    if name == "micro_batching":
        return MicroBatching(model, config.num_workers, config.max_batch_size)
    options = EngineConfig(
        config.max_batch_size,
        max_queue=1024,
        prefill_chunk=config.prefill_chunk,
        kv_cache_bytes=int(config.kv_cache_gib * 2**30),
    )
    if name == "ours_without_drafts":
        options = dataclasses.replace(options, max_draft_tokens=0)
    off = {"ours_without_prefixes": {"prefixes"}, "ours_without_features": {"features"}}
    off["ours_without_caches"] = {"prefixes", "features"}
    return Ours(model, options, config.num_workers, config.last_n, off.get(name, set()))


def compare(model: VisionLanguageModel, agents: int, prompt_tokens: int, config: Config) -> list[dict[str, Any]]:
    """A row for each side."""
    each = max(config.num_requests, -(-_FEW // agents))
    warm, *traffic = [
        serving_traffic.agent(number, each, prompt_tokens, model, config.last_n) for number in range(agents + 1)
    ]
    measured = [Measured(name, agents, prompt_tokens) for name in config.sides]
    for _ in range(1 if config.quick else config.repeats):
        for row, name in zip(measured, config.sides, strict=True):
            side = start(name, model, config)
            side.answer(warm[0])
            row.take(side, traffic)
            side.stop()
            row.rates = side.rates() if isinstance(side, Ours) else {}
    asked = [request for requests in traffic for request in requests]
    lengths = {
        "prompt": Figure.of([serving_traffic.num_tokens(one.turns, one.images, model) for one in asked]),
        "reply": Figure.of([len(one.reply_ids) for one in asked]),
    }
    return [
        summarize(row, measured) | {f"{name}_lengths": figure for name, figure in lengths.items()} for row in measured
    ]


def summarize(row: Measured, others: list[Measured]) -> dict[str, Any]:
    """Medians with ranges, ratios to the baselines, and the share of the model's choices that are the first side's."""
    figures = ("requests_per_s", "requests_per_cpu_s", "p50_s", "p95_s")
    result: dict[str, Any] = {"side": row.side, "agents": row.agents, "prompt_tokens": row.prompt_tokens}
    result |= {"requests": len(row.choices)} | {name: Figure.of(getattr(row, name)) for name in figures}
    for other in others:
        if other.side in BASELINES and row.side not in BASELINES:
            for name in ("requests_per_s", "requests_per_cpu_s"):
                result[f"{name}_x_{other.side}"] = Figure.times(getattr(row, name), getattr(other, name))
    pairs = [
        (a, b)
        for one, first in zip(row.choices, others[0].choices, strict=True)
        for a, b in zip(one, first, strict=True)
    ]
    result["same_choices"] = round(sum(a == b for a, b in pairs) / len(pairs), 5)
    return result | {"peak_rss_mb": row.peak_rss_mb} | row.rates


def write(path: Path, config: Config, load: Load, rows: list[dict[str, Any]]) -> None:
    """JSON and picture."""
    write_json(path, {"config": dataclasses.asdict(config), "load": dataclasses.asdict(load), "rows": plain(rows)})
    plot(rows, path.with_suffix(".png"))


def plot(rows: list[dict[str, Any]], path: Path) -> None:
    """Bars of requests per second for each setting, with their range."""
    settings = list(dict.fromkeys((row["prompt_tokens"], row["agents"]) for row in rows))
    sides = list(dict.fromkeys(row["side"] for row in rows))
    with drawing(path, (2 + 1.2 * len(settings), 3.6)) as [axes]:
        for number, side in enumerate(sides):
            found = {
                (row["prompt_tokens"], row["agents"]): row["requests_per_s"] for row in rows if row["side"] == side
            }
            places = [index + (number - (len(sides) - 1) / 2) * 0.2 for index in range(len(settings))]
            bars = [found[setting] for setting in settings]
            low, high = [one.median - one.lowest for one in bars], [one.highest - one.median for one in bars]
            heights = [one.median for one in bars]
            axes.bar(places, heights, width=0.18, yerr=[low, high], capsize=2, label=side.replace("_", " "))
        axes.set_xticks(range(len(settings)), [f"{agents} agents\n{tokens} tokens" for tokens, agents in settings])
        axes.set_ylabel("requests per second")
        axes.legend(frameon=False)
        axes.spines[["top", "right"]].set_visible(False)


def print_table(rows: list[dict[str, Any]]) -> None:
    """In Markdown, for docs/results/serving_speed.md: requests per second of every side, and ratios."""
    sides = list(dict.fromkeys(row["side"] for row in rows))
    baselines = [name for name in BASELINES if name in sides and sides[-1] not in BASELINES]
    names = [*sides, *(f"{sides[-1]}, times {name}" for name in baselines)]
    print(f"| agents | tokens | {' | '.join(names).replace('_', ' ')} |\n|{'---|' * (2 + len(names))}")
    for begin in range(0, len(rows), len(sides)):
        setting = rows[begin : begin + len(sides)]
        cells = [row["requests_per_s"] for row in setting]
        cells += [setting[-1][f"requests_per_s_x_{name}"] for name in baselines]
        print(f"| {setting[0]['agents']} | {setting[0]['prompt_tokens']} | {' | '.join(map(str, cells))} |")


def main(config: Config) -> None:
    """Measure all settings, and print the table."""
    torch.set_num_threads(1)  # on a CPU every side has threads enough to fill two cores
    model = VisionLanguageModel(check_folder(Path(config.model_name_or_path)), LoadOptions(device=config.device))
    rows: list[dict[str, Any]] = []
    with watched(1 if config.quick else config.repeats) as load:
        for agents, prompt_tokens in config.cells:
            rows += compare(model, agents, prompt_tokens, config)
            print(f"{agents} agents, {prompt_tokens} tokens: done", flush=True)
            if config.output:
                write(Path(config.output), config, load, rows)
    print_table(rows)
    print(load)
    if config.output:
        write(Path(config.output), config, load, rows)


if __name__ == "__main__":
    cli.run(Config, main, description=__doc__)
