"""Requests per second of our engine against the published server's logic and fixed-window micro-batching.

    python benchmarks/serving.py --output serving.json        # 16 agents, prompts of about 1000 tokens, tiny policy
    python benchmarks/serving.py --num_clients 1 4 16 64 --prompt_tokens 500 1000 4000
    python benchmarks/serving.py --model_name_or_path idefics2-8b --device cuda:0 --num_clients 64 --num_workers 1 \
        --max_batch_size 64 --prefill_chunk 1024        # a GPU

All sides run the same model in one run, one after another, without HTTP. Agents walk through episodes: each step sends
the conversation so far in OpenWebVoyager's form with its newest screenshots, waits for the reply and goes on at once.
Reply lengths are those of a released OpenWebVoyager trajectory (42 to 139 tokens). Decoding is greedy and the replies
are compared. CPU time is the process's: on a busy machine the wall clock says little. Writes JSON, and a PNG beside it.
"""

import base64
import dataclasses
import io
import random
import statistics
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal

import psutil
import torch
from PIL import Image, ImageDraw
from rich.console import Console
from rich.table import Table
from serving_baselines import MicroBatching, Published, Request

from data import cli
from data.conversation import StepText, build_conversation, split_marks
from data.files import write_json
from server.engine import Engine, EngineConfig
from server.hf_online_server import check_folder
from server.prompt import build_prompt
from server.sampling import SamplingParams
from server.sequence import Options
from server.speculation import NextPrompt
from server.vision_language_model import LoadOptions, VisionLanguageModel
from server.wire_images import from_predict

WORDS = (
    "red blue shoe book train rome search result price offer cheap new sign home menu cart topic reply ticket".split()
)
REPLY = "Thought: I am on 'Search'. I need \"red shoe\". I should click 'red shoe'.\n\nAction: Click [3]"
Side = Literal["published", "micro_batching", "ours"]


@dataclasses.dataclass(frozen=True)
class Config:
    """Compare serving engines on the same model and traffic."""

    model_name_or_path: str = "examples/quickstart/starting_policy/weights"
    """Checkpoint folder."""
    device: str = "auto"
    """auto, cpu, cuda:0."""
    num_clients: tuple[int, ...] = (16,)
    """Browsers asking at the same time."""
    prompt_tokens: tuple[int, ...] = (1000,)
    """About this many tokens in each prompt of an episode's middle."""
    num_steps: int = 4
    """Steps of each client's episode."""
    last_n: int = 3
    """Newest screenshots attached."""
    reply_tokens: tuple[int, int] = (42, 139)
    """Fewest and most tokens of a reply."""
    think_s: float = 0.0
    """Seconds that a browser takes to act."""
    num_workers: int = 2
    """Engines of ours and micro-batching workers, over the same weights: one for each core, or 1 on a GPU."""
    max_batch_size: int = 16
    """Slots of an engine, and most requests of a micro-batch."""
    prefill_chunk: int = 256
    """Prompt tokens that our engine reads in a step."""
    sides: tuple[Side, ...] = ("published", "micro_batching", "ours")
    """What is measured."""
    seed: int = 0
    """Of the traffic."""
    output: str = ""
    """A JSON file for the numbers; a plot goes beside it."""


class Ours:
    """The engine; every session stays with one of `num_workers`."""

    def __init__(self, model: VisionLanguageModel, config: Config):
        options = EngineConfig(config.max_batch_size, max_queue=1024, prefill_chunk=config.prefill_chunk)
        self.engines = [Engine(model, options) for _ in range(config.num_workers)]
        self._next_prompt = NextPrompt(config.last_n)

    def answer(self, request: Request) -> list[int]:
        """The reply's token ids; what comes next is read ahead, as the server does."""
        engine = self.engines[int(request.session) % len(self.engines)]
        images = from_predict(request.images)
        messages = [{"role": turn["role"], "content": split_marks(turn["content"])} for turn in request.turns]
        prompt = build_prompt(messages, images, engine.model, engine.cache)
        length = {"max_new_tokens": request.reply_tokens, "min_new_tokens": request.reply_tokens}
        options = Options(session=request.session)
        completion = engine.submit(prompt, SamplingParams(temperature=0, **length), options).result()
        if not request.last:  # the server would see an ANSWER
            threading.Thread(target=self._read_ahead, args=(engine, request, images)).start()
        return completion.token_ids

    def _read_ahead(self, engine: Engine, request: Request, images: list) -> None:
        expected = self._next_prompt.expect([(turn["role"], turn["content"]) for turn in request.turns], REPLY)
        if expected is not None:
            messages, shown = expected
            prompt = build_prompt(messages, [images[i] for i in shown], engine.model, engine.cache)
            engine.read_ahead(prompt, request.session)

    def stop(self) -> None:
        """Drain and end."""
        for engine in self.engines:
            engine.stop()

    def rates(self) -> dict[str, float]:
        """Shares of what was asked for that was known."""

        def total(name: str) -> int:
            return sum(getattr(engine.stats, name) for engine in self.engines)

        return {
            "prompt_tokens_cached": round(total("cached_tokens") / max(1, total("prompt_tokens")), 3),
            "images_cached": round(1 - total("image_misses") / max(1, total("image_hits") + total("image_misses")), 3),
            "mean_decode_batch": round(total("decode_tokens") / max(1, total("steps")), 2),
        }


def episode(number: int, num_elements: int, config: Config) -> list[Request]:
    """The requests of one agent, step by step."""
    dice = random.Random(f"{config.seed} {number}")
    lines = range(1, num_elements + 1)
    trees = ["\n".join(_tree_line(dice, i) for i in lines) for _ in range(config.num_steps)]
    shots = [_screenshot(dice) for _ in range(config.num_steps)]
    requests = []
    for step in range(1, config.num_steps + 1):
        texts = [StepText(tree, reply=REPLY if i < step else None) for i, tree in enumerate(trees[:step], start=1)]
        conversation = build_conversation("Find the cheapest red shoe.", texts, config.last_n)
        turns = [{"role": turn.role, "content": turn.text} for turn in conversation.turns]
        images = [shots[shown - 1] for shown in conversation.image_steps]
        num_tokens = dice.randint(*config.reply_tokens)
        requests.append(Request(str(number), turns, images, num_tokens, last=step == config.num_steps))
    return requests


def num_elements_for(model: VisionLanguageModel, prompt_tokens: int, config: Config) -> int:
    """Tree lines that make the middle step's prompt about `prompt_tokens` long."""

    def length(num_elements: int) -> int:
        middle = episode(0, num_elements, config)[config.num_steps // 2]
        messages = [{"role": turn["role"], "content": split_marks(turn["content"])} for turn in middle.turns]
        return len(model.prompt_ids(messages, [image.size for image in from_predict(middle.images)]))

    empty, ten = length(1), length(11)
    return max(1, round((prompt_tokens - empty) / ((ten - empty) / 10)))


def _tree_line(dice: random.Random, label: int) -> str:
    return f"\t[{label}] {dice.choice(['link', 'button', 'StaticText'])} '{dice.choice(WORDS)} {dice.choice(WORDS)}'"


def _screenshot(dice: random.Random) -> str:
    image = Image.new("RGB", (1024, 768), "white")
    draw = ImageDraw.Draw(image)
    for _ in range(150):
        draw.text((dice.randrange(1000), dice.randrange(750)), " ".join(dice.choices(WORDS, k=5)), fill="black")
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    return base64.b64encode(buffer.getvalue()).decode()


def measure(side: Any, episodes: list[list[Request]], think_s: float) -> tuple[dict[str, float], list[list[list[int]]]]:
    """One client per episode, all at once; the numbers, and the replies."""
    latencies: list[float] = []

    def client(requests: list[Request]) -> list[list[int]]:
        replies = []
        for request in requests:
            begin = time.perf_counter()
            replies.append(side.answer(request))
            latencies.append(time.perf_counter() - begin)
            time.sleep(think_s)
        return replies

    begin, cpu_begin = time.perf_counter(), time.process_time()
    with ThreadPoolExecutor(len(episodes)) as pool:
        replies = list(pool.map(client, episodes))
    wall, cpu = time.perf_counter() - begin, time.process_time() - cpu_begin
    numbers = {
        "requests_per_s": round(len(latencies) / wall, 3),
        "requests_per_cpu_s": round(len(latencies) / cpu, 3),
        "tokens_per_s": round(sum(len(reply) for one in replies for reply in one) / wall, 1),
        "p50_ms": round(1000 * statistics.median(latencies)),
        "p95_ms": round(1000 * sorted(latencies)[int(0.95 * (len(latencies) - 1))]),
        "rss_mb": round(psutil.Process().memory_info().rss / 2**20),
    }
    return numbers, replies


def start(name: Side, model: VisionLanguageModel, config: Config) -> Any:
    """A side, empty."""
    if name == "published":
        return Published(model)
    if name == "micro_batching":
        return MicroBatching(model, config.num_workers, config.max_batch_size)
    return Ours(model, config)


def compare(model: VisionLanguageModel, clients: int, prompt_tokens: int, config: Config) -> list[dict[str, Any]]:
    """A row for each side; its replies are counted that equal the first side's."""
    num_elements = num_elements_for(model, prompt_tokens, config)
    warm, *episodes = [episode(number, num_elements, config) for number in range(clients + 1)]
    rows, first = [], None
    for name in config.sides:
        side = start(name, model, config)
        side.answer(warm[0])
        numbers, replies = measure(side, episodes, config.think_s)
        side.stop()
        first = first or replies
        same = sum(a == b for one, other in zip(first, replies, strict=True) for a, b in zip(one, other, strict=True))
        row = {"side": name, "clients": clients, "prompt_tokens": prompt_tokens} | numbers
        row["same_replies"] = f"{same}/{sum(map(len, replies))}"
        rows.append(row | (side.rates() if isinstance(side, Ours) else {}))
    for row in rows:
        for name in ("published", "micro_batching"):
            other = next((one for one in rows if one["side"] == name), None)
            if row["side"] == "ours" and other:
                row[f"x_{name}"] = round(row["requests_per_s"] / other["requests_per_s"], 2)
                row[f"cpu_x_{name}"] = round(row["requests_per_cpu_s"] / other["requests_per_cpu_s"], 2)
    return rows


def plot(rows: list[dict[str, Any]], path: Path) -> None:
    """Bars of requests per second for each setting."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    settings = sorted({(row["prompt_tokens"], row["clients"]) for row in rows})
    sides = list(dict.fromkeys(row["side"] for row in rows))
    figure, axes = pyplot.subplots(figsize=(2 + 1.6 * len(settings), 3.6), layout="constrained")
    for number, side in enumerate(sides):
        found = {(row["prompt_tokens"], row["clients"]): row["requests_per_s"] for row in rows if row["side"] == side}
        places = [index + (number - (len(sides) - 1) / 2) * 0.27 for index in range(len(settings))]
        axes.bar(places, [found[setting] for setting in settings], width=0.25, label=side.replace("_", "-"))
    axes.set_xticks(range(len(settings)), [f"{clients} clients\n{tokens} tokens" for tokens, clients in settings])
    axes.set_ylabel("requests per second")
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=120)


def main(config: Config) -> None:
    """Measure all sides for each number of clients and prompt length, and print the table."""
    torch.set_num_threads(1)  # on a CPU every side has threads enough to fill two cores
    model = VisionLanguageModel(check_folder(Path(config.model_name_or_path)), LoadOptions(device=config.device))
    rows: list[dict[str, Any]] = []
    for prompt_tokens in config.prompt_tokens:
        for clients in config.num_clients:
            rows += compare(model, clients, prompt_tokens, config)
            if config.output:
                write_json(Path(config.output), {"config": dataclasses.asdict(config), "rows": rows})
                plot(rows, Path(config.output).with_suffix(".png"))
    columns = list(dict.fromkeys(name for row in rows for name in row))
    table = Table(*(name.replace("_", " ") for name in columns), title=f"{config.model_name_or_path}, {model.device}")
    for row in rows:
        table.add_row(*(str(row.get(name, "")) for name in columns))
    Console(width=240).print(table)


if __name__ == "__main__":
    cli.run(Config, main, description=__doc__)
