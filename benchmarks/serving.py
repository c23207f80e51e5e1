"""Requests per second of our engine against the published server's way, with the same model in the same run.

    python benchmarks/serving.py --model_name_or_path examples/quickstart/starting_policy/weights

Baseline, as in OpenWebVoyager's server: each request runs the processor and one `generate` in a thread of its own. Both
sides get the same conversations (agents that walk through episodes, newest screenshots attached), greedy decoding and
replies of one length, without HTTP. Replies are compared: they must be the same.
"""

import base64
import dataclasses
import io
import random
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import torch
from PIL import Image, ImageDraw
from rich.console import Console
from rich.table import Table

from data import cli
from data.conversation import StepText, build_conversation
from data.files import write_json
from server.engine import Engine
from server.feature_cache import FeatureCache
from server.hf_online_server import check_folder
from server.prompt import build_prompt, split_marks
from server.sampling import SamplingParams
from server.vision_language_model import LoadOptions, VisionLanguageModel
from server.wire_images import from_predict

WORDS = (
    "red blue shoe book train rome search result price offer cheap new sign home menu cart topic reply ticket".split()
)


@dataclasses.dataclass(frozen=True)
class Config:
    """Compare the serving engine with one `generate` per request."""

    model_name_or_path: str = "examples/quickstart/starting_policy/weights"
    """Checkpoint folder."""
    device: str = "auto"
    """auto, cpu, cuda:0."""
    num_threads: int = 1
    """Torch threads on CPU; in the quickstart the other core runs the browsers."""
    num_clients: tuple[int, ...] = (1, 4, 8)
    """Browsers asking at the same time."""
    num_steps: int = 4
    """Steps of each client's episode."""
    num_elements: int = 40
    """Lines of each accessibility tree."""
    last_n: int = 3
    """Newest screenshots attached."""
    reply_tokens: int = 40
    """Tokens of each reply."""
    max_batch_size: int = 16
    """Slots of the engine."""
    output: str = ""
    """A JSON file for the numbers."""


@dataclasses.dataclass(frozen=True)
class Request:
    """One `/predict` body."""

    conversations: list[dict[str, str]]
    images: list[str]


def episode(seed: int, config: Config) -> list[Request]:
    """The requests of one agent, step by step."""
    dice = random.Random(seed)
    reply = "Thought: I should click the link.\n\nAction: Click [3]"
    trees = ["\n".join(_tree_line(dice, i) for i in range(1, config.num_elements + 1)) for _ in range(config.num_steps)]
    shots = [_screenshot(dice) for _ in range(config.num_steps)]
    requests = []
    for step in range(1, config.num_steps + 1):
        texts = [StepText(tree, reply=reply if i < step else None) for i, tree in enumerate(trees[:step], start=1)]
        conversation = build_conversation("Find the cheapest red shoe.", texts, config.last_n)
        turns = [{"role": turn.role, "content": turn.text} for turn in conversation.turns]
        requests.append(Request(turns, [shots[number - 1] for number in conversation.image_steps]))
    return requests


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


def published(model: VisionLanguageModel, config: Config) -> Callable[[Request], list[int]]:
    """One `generate` per request, in the caller's thread."""

    def answer(request: Request) -> list[int]:
        images = [image.load() for image in from_predict(request.images)]
        messages = [{"role": t["role"], "content": split_marks(t["content"])} for t in request.conversations]
        text = model.processor.apply_chat_template(messages, add_generation_prompt=True).strip()
        inputs = model.processor(text=[text], images=[images], return_tensors="pt").to(model.device)
        length = {"min_new_tokens": config.reply_tokens, "max_new_tokens": config.reply_tokens}
        sequence = model.hf_model.generate(**inputs, do_sample=False, eos_token_id=model.eos_ids, **length)[0]
        return sequence[inputs["input_ids"].shape[1] :].tolist()

    return answer


def ours(model: VisionLanguageModel, config: Config) -> Callable[[Request], list[int]]:
    """The engine, with an empty image cache."""
    engine = Engine(model, FeatureCache(512), config.max_batch_size, max_queue=1024)
    params = SamplingParams(temperature=0, max_new_tokens=config.reply_tokens, min_new_tokens=config.reply_tokens)

    def answer(request: Request) -> list[int]:
        messages = [{"role": t["role"], "content": split_marks(t["content"])} for t in request.conversations]
        prompt = build_prompt(messages, from_predict(request.images), model, engine.cache)
        return engine.submit(prompt, params).result().token_ids

    return answer


@dataclasses.dataclass(frozen=True)
class Measured:
    """One side with some number of clients. `cpu_ms` is the process's CPU time per request: on a busy machine the wall
    clock says little, and the core that serving leaves free is the browsers'."""

    requests_per_s: float
    median_ms: float
    cpu_ms: float
    replies: list[list[list[int]]]


def measure(answer: Callable[[Request], list[int]], episodes: list[list[Request]]) -> Measured:
    """One client per episode, all at once."""
    latencies: list[float] = []

    def client(requests: list[Request]) -> list[list[int]]:
        replies = []
        for request in requests:
            begin = time.perf_counter()
            replies.append(answer(request))
            latencies.append(time.perf_counter() - begin)
        return replies

    begin, cpu_begin = time.perf_counter(), time.process_time()
    with ThreadPoolExecutor(len(episodes)) as pool:
        replies = list(pool.map(client, episodes))
    wall, cpu = time.perf_counter() - begin, time.process_time() - cpu_begin
    return Measured(len(latencies) / wall, 1000 * statistics.median(latencies), 1000 * cpu / len(latencies), replies)


def compare(clients: int, old: Measured, new: Measured) -> dict[str, float | str]:
    """A row of the table."""
    pairs = [(a, b) for x, y in zip(old.replies, new.replies, strict=True) for a, b in zip(x, y, strict=True)]
    return {
        "clients": clients,
        "published_req/s": round(old.requests_per_s, 2),
        "ours_req/s": round(new.requests_per_s, 2),
        "ratio": round(new.requests_per_s / old.requests_per_s, 2),
        "published_cpu_ms": round(old.cpu_ms),
        "ours_cpu_ms": round(new.cpu_ms),
        "cpu_ratio": round(old.cpu_ms / new.cpu_ms, 2),
        "published_median_ms": round(old.median_ms),
        "ours_median_ms": round(new.median_ms),
        "same_replies": f"{sum(a == b for a, b in pairs)}/{len(pairs)}",
    }


def main(config: Config) -> None:
    """Measure both sides for each number of clients and print the table."""
    torch.set_num_threads(config.num_threads)
    model = VisionLanguageModel(check_folder(Path(config.model_name_or_path)), LoadOptions(device=config.device))
    rows = []
    for clients in config.num_clients:
        warm, *episodes = [episode(seed, config) for seed in range(clients + 1)]
        sides = {}
        for name, side in (("published", published(model, config)), ("ours", ours(model, config))):
            side(warm[0])
            sides[name] = measure(side, episodes)
        rows.append(compare(clients, sides["published"], sides["ours"]))
    table = Table(*(name.replace("_", " ") for name in rows[0]), title=f"{config.model_name_or_path}, {model.device}")
    for row in rows:
        table.add_row(*map(str, row.values()))
    Console(width=120).print(table)
    if config.output:
        write_json(Path(config.output), {"config": dataclasses.asdict(config), "rows": rows})


if __name__ == "__main__":
    cli.run(Config, main, description=__doc__)
