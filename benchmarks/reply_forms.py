"""What a reply in a form costs: tokens per second beside replies in none, and a token's mask by size of vocabulary.

    python benchmarks/reply_forms.py --output reply_forms.json

Both sides are the quickstart's starting policy with the same prompts, as many tokens and nothing drafted; they take
turns. `drafted` is the side in a form with drafts, which write what its schema leaves no choice about.
"""

import dataclasses
import sys
import time
from pathlib import Path
from typing import Annotated, Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.figures import Figure, plain, watched
from common import cli
from common.defaults import STARTING_POLICY
from common.files import write_json
from common.options.limits import Checked, at_least
from server.engine.engine import Engine, EngineConfig
from server.engine.model.prompt import Prompt
from server.engine.model.vision_language_model import LoadOptions, VisionLanguageModel
from server.engine.reply_form.grammar import json_rule
from server.engine.sampling import SamplingParams
from server.engine.sequence import Options

_STEP = {
    "type": "object",
    "properties": {
        "thought": {"type": "string", "maxLength": 60},
        "action": {"enum": ["click", "type", "scroll", "answer"]},
        "element": {"type": "integer", "minimum": 0, "maximum": 999},
    },
    "required": ["thought", "action", "element"],
    "additionalProperties": False,
}
SCHEMA = {"type": "array", "items": _STEP, "minItems": 200}
"""So long that no reply is complete."""


@dataclasses.dataclass(frozen=True)
class Config(Checked):
    """Measure replies in a form."""

    batch: Annotated[int, at_least(1)] = 8
    """Replies at once."""
    num_tokens: Annotated[int, at_least(8)] = 128
    """Of a reply."""
    repeats: Annotated[int, at_least(1)] = 5
    """Of each side, in turns."""
    output: Path = Path("reply_forms.json")
    """A JSON file for the numbers."""


def main(config: Config) -> None:
    """Measure, print, write."""
    model = VisionLanguageModel(STARTING_POLICY, LoadOptions(device="cpu"))
    plain_engine, drafting = (Engine(model, EngineConfig(config.batch, max_draft_tokens=n)) for n in (0, 8))
    model.grammars.constraint(_rules(), "x")
    with watched(config.repeats) as load:
        free, bound, drafted = [], [], []
        for seed in range(config.repeats):
            free.append(_speed(plain_engine, config, seed, is_bound=False))
            bound.append(_speed(plain_engine, config, seed, is_bound=True))
            drafted.append(_speed(drafting, config, seed, is_bound=True))
    rows: list[dict[str, Any]] = [
        {"side": "in no form", "tokens_per_s": Figure.of(free)},
        {"side": "in a form", "tokens_per_s": Figure.of(bound), "times": Figure.times(bound, free)},
        {"side": "drafted", "tokens_per_s": Figure.of(drafted), "times": Figure.times(drafted, free)},
        {"side": "mask", "milliseconds": _mask_ms(model), "vocabulary": model.vocab_size},
    ]
    for row in rows:
        print(", ".join(f"{name} {value}" for name, value in row.items()))
    print(load)
    asked = {name: value for name, value in vars(config).items() if name != "output"}
    write_json(config.output, {**asked, "load": dataclasses.asdict(load), "rows": plain(rows)})
    plain_engine.stop()
    drafting.stop()


def _rules() -> str:
    return f"start: {json_rule(SCHEMA)}\n"


def _speed(engine: Engine, config: Config, seed: int, is_bound: bool) -> float:
    """Tokens per second of a batch of replies."""
    params = SamplingParams(max_new_tokens=config.num_tokens, min_new_tokens=config.num_tokens)
    began, futures = time.monotonic(), []
    for number in range(config.batch):
        one = engine.model.grammars.constraint(_rules(), "x") if is_bound else None
        prompt = Prompt([20 + (seed * config.batch + number) % 200] * 40)
        futures.append(engine.submit(prompt, dataclasses.replace(params, seed=number), Options(constraint=one)))
    total = sum(len(future.result().token_ids) for future in futures)
    return total / (time.monotonic() - began)


def _mask_ms(model: VisionLanguageModel, number: int = 300) -> Figure:
    """A token's mask, and its being taken in, along one reply of the likeliest tokens."""
    one, times = model.grammars.constraint(_rules(), "x"), []
    for at in range(number):
        began = time.perf_counter()
        allowed = one.masks([])[0].nonzero()[0]
        one.consume(int(allowed[at % len(allowed)]))
        times.append(1000 * (time.perf_counter() - began))
    return Figure.of(times)


if __name__ == "__main__":
    cli.run(Config, main, description=__doc__)
