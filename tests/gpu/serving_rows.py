"""A policy under agents, row by row: `python -m tests.gpu.serving_rows --policy POLICY --rows NAME ...`.

Sides and traffic are those of `benchmarks/serving.py`: recorded episodes with a screenshot and a tree in each prompt,
and the three newest screenshots, without HTTP. One `generate` a request does not get faster with more agents, so it is
measured with one; `batched` pads what came within a window and calls `generate` for all of it.
"""

import dataclasses
import statistics
from pathlib import Path
from typing import Any

import torch

from benchmarks import serving, serving_traffic
from benchmarks.serving_ours import Ours
from common import cli
from common.errors import UserError
from server.engine.model.vision_language_model import LoadOptions, VisionLanguageModel
from server.hf_online_server import check_folder
from tests.gpu import floors, policy, rows

ROWS: dict[str, tuple[serving.Side, int]] = {
    "ours_64": ("ours", 64),
    "generate_1": ("published", 1),
    "ours_1": ("ours", 1),
    "ours_16": ("ours", 16),
    "batched_16": ("micro_batching", 16),
    "batched_64": ("micro_batching", 64),
    "without_prefix_cache_16": ("ours_without_prefixes", 16),
    "without_feature_cache_16": ("ours_without_features", 16),
}
"""Side and number of agents."""
_FEW = 4  # requests that one agent makes


@dataclasses.dataclass(frozen=True)
class Config:
    """Measure rows of serving."""

    policy: Path
    """Checkpoint folder; one of `--shape` is written where none is."""
    shape: str = "qwen3-vl-4b"
    """Its folder in training/memory/shapes."""
    rows: tuple[str, ...] = tuple(ROWS)
    """Which, in this order."""
    traced: str = "ours_16"
    """Of this row one step that reads prompts and one that decodes are traced, into `traces` beside --output."""
    prompt_tokens: int = 4000
    """About as many in each prompt."""
    max_agents: int = 64
    """Rows of more have so many."""
    cpu: bool = False
    """A tiny policy on this CPU."""
    kv_cache_gib: float = 95.0
    """Keys, values and features of our engine; 64 prompts of 4,000 tokens take 36 in Qwen3-VL-4B, and as much again as
    known prefixes."""
    output: Path = Path("serving_rows.json")
    """Receives the figures."""


def main(config: Config) -> None:
    """Load once, measure."""
    if unknown := set(config.rows) - set(ROWS):
        raise UserError(f"--rows {' '.join(sorted(unknown))}: the rows are {', '.join(ROWS)}")
    device = "cpu" if config.cpu else "cuda:0"
    torch.set_num_threads(1 if config.cpu else 4)  # of each agent that reads a picture
    policy.ensure(config.policy, config.shape, device)
    rows.free_memory()
    model = VisionLanguageModel(check_folder(config.policy), LoadOptions(device=device))
    held = rows.free_memory()
    print(f"the model takes {held:.1f} GiB", flush=True)
    rows.measure(config.rows, config.output, lambda name: _measure(name, config, model), held)


def _measure(name: str, config: Config, model: VisionLanguageModel) -> dict[str, Any]:
    kind, agents = ROWS[name]
    agents = min(agents, config.max_agents)
    each = _FEW if agents == 1 and not config.cpu else 2
    options = serving.Config(
        num_workers=1,
        max_batch_size=64,
        prefill_chunk=256 if config.cpu else 2048,
        kv_cache_gib=config.kv_cache_gib,
    )
    warm, *traffic = [
        serving_traffic.agent(number, each, config.prompt_tokens, model, options.last_n) for number in range(agents + 1)
    ]
    row, side = serving.Measured(kind, agents, config.prompt_tokens), serving.start(kind, model, options)
    try:
        side.answer(warm[0])
        if isinstance(side, Ours) and name == config.traced:
            side.engines[0].given_step.trace = config.output.parent / "traces" / f"serving_{name}"
        seconds = row.take(side, traffic)
    finally:
        side.stop()
    asked = [request for requests in traffic for request in requests]
    prompts = [serving_traffic.num_tokens(one.turns, one.images, model) for one in asked]
    prompt, reply = statistics.mean(prompts), statistics.mean(len(one.reply_ids) for one in asked)
    images = statistics.mean(len(one.images) for one in asked)
    floor = floors.serving(config.shape, agents, prompt, images, reply, requests=len(asked))
    gpu = "none" if config.cpu else torch.cuda.get_device_name()
    return {
        **{"side": kind, "agents": agents, "requests": len(asked), "gpu": gpu, "seconds": seconds},
        **{"prompt_tokens": prompt, "images": images, "reply_tokens": reply},
        **{"requests_per_s": len(asked) / seconds, "p50_s": row.p50_s[0], "p95_s": row.p95_s[0]},
        "prompt_tokens_per_s": sum(prompts) / seconds,
        "reply_tokens_per_s": reply * len(asked) / seconds,
        **(side.rates() if isinstance(side, Ours) else {}),
        **floors.read(gpu, seconds, floor),
    }


if __name__ == "__main__":
    cli.run(Config, main, description=__doc__)
