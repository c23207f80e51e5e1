"""The least time that each figure of a short proof can take: predictions; `python -m tests.gpu.floors` prints them.

A floor is the larger of FLOPs / `TFLOPS` and bytes / TB/s, what one H100 or H200 gives a well-made kernel, or their sum
where one waits for the other; nothing else is counted. A measured figure is read as floor / measured.
"""

import dataclasses
from typing import Any

from benchmarks.shapes import image_encoder, released
from models.registry import family_of
from training.batches.flops import language_flops

TFLOPS = 790.0
TB_PER_S = {"H100": 3.0, "H200": 4.3}
SCREENSHOT = (768, 1024)


@dataclasses.dataclass(frozen=True)
class Floor:
    """`tflop` and `terabytes` of the work, side by side, or `in_turns`."""

    tflop: float
    terabytes: float
    in_turns: bool = False

    def seconds(self, gpu: str) -> float:
        """Below which it cannot be done."""
        both = (self.tflop / TFLOPS, self.terabytes / TB_PER_S[gpu])
        return sum(both) if self.in_turns else max(both)


def read(gpu: str, seconds: float, floor: Floor) -> dict[str, float]:
    """What of a measurement is its floor; nothing on a GPU of another kind."""
    kind = next((kind for kind in TB_PER_S if kind in gpu), None)
    if kind is None:
        return {}
    least = floor.seconds(kind)
    work = {"floor_tflop": floor.tflop, "floor_terabytes": floor.terabytes}
    return {**work, "floor_seconds": least, "share_of_floor": least / seconds}


def of_training(found: dict[str, Any]) -> Floor:
    """Of a step that `benchmarks/training_gpu.py` measured, or its baseline, at the depth that it had."""
    size = (found["shape"], found["layers"], found["samples"], found["sample_len"])
    reply = None if found["write"] == "logprobs" else 1
    if found["forward_only"]:
        return scoring(*size, reply=reply)
    return training(*size, tower_learns=found["tower_learns"], reply=reply)


def training(
    name: str, layers: int, samples: int, sample_len: int, tower_learns: bool, reply: int | None = None
) -> Floor:
    """A step over `samples` of one screenshot each, whose last eighth is the reply (a critic reads no more than one
    token of it); weights, gradients and Adam's state (in all 34 bytes a parameter, read and written) are the bytes."""
    hf = released(name, layers)
    reply = sample_len // 8 if reply is None else reply
    flops = language_flops(hf.get_text_config(), [sample_len] * samples, [reply + 1] * samples, samples * reply)
    flops += samples * (3 if tower_learns else 1) * _image_flops(name)
    return Floor(flops / 1e12, 34 * _language_parameters(hf) / 1e12)


def scoring(name: str, layers: int, samples: int, sample_len: int, reply: int | None = None) -> Floor:
    """A forward pass over the same, which reads the weights once."""
    whole = training(name, layers, samples, sample_len, tower_learns=False, reply=reply)
    tower = samples * _image_flops(name) / 1e12
    return Floor((whole.tflop - tower) / 3 + tower, 2 * _language_parameters(released(name, layers)) / 1e12)


def serving(
    name: str, agents: int, prompt: float, images: float, reply: float, replies: int = 1, requests: int = 0
) -> Floor:
    """`requests` of so many agents, one of each unless told otherwise: prompts read at the matrix units' rate, then
    `reply` steps for each round that read all weights once and every agent's keys and values; candidates are `replies`
    to a prompt that is read once. No prompt is known already."""
    hf, rounds = released(name), (requests or agents) / agents
    text = hf.get_text_config()
    read = rounds * agents * (language_flops(text, [prompt], [1], 1) / 3 + images * _image_flops(name)) / 1e12
    cached = 2 * 2 * text.num_hidden_layers * text.num_key_value_heads * text.head_dim * (prompt + reply / 2)
    written = rounds * replies * reply * (2 * _language_parameters(hf) + agents * cached) / 1e12
    return Floor(read, written, in_turns=True)


def small_critic(features: int, width: int, batch: int, iterations: int) -> Floor:
    """Fitting twin networks for Q and V; Adam in fp32 (28 bytes a parameter) and slow copies (12 more)."""
    inner = width * width + width
    parameters = 2 * (2 * features * width + inner) + 2 * (features * width + inner)
    return Floor(6 * parameters * batch * iterations / 1e12, 40 * parameters * iterations / 1e12)


def _language_parameters(hf: Any) -> float:
    text = hf.get_text_config()
    heads = 2 * text.hidden_size * text.head_dim * (text.num_attention_heads + text.num_key_value_heads)
    layer = heads + 3 * text.hidden_size * text.intermediate_size
    return text.num_hidden_layers * layer + text.vocab_size * text.hidden_size * (1 if hf.tie_word_embeddings else 2)


def _image_flops(name: str) -> float:
    """Of the tower in a forward pass over a screenshot."""
    hf = released(name)
    return family_of(hf).vision_side(hf).image_flops(image_encoder(name), *SCREENSHOT)


def table() -> list[tuple[str, Floor]]:
    """What docs/howto/gpu.md shows, by the rows of `tests/gpu/short_lines.py`."""
    found: list[tuple[str, str, Floor]] = []
    for row, name, layers, length in _DEPTHS:
        tower = "learned" if "learned" in row else "frozen"
        floor = training(name, layers, 8, length, tower == "learned", reply=1 if "critic" in row else None)
        found.append((row, f"{layers} layers, 8 x {length}, tower {tower}", floor))
    for agents in (1, 16, 64):
        what = f"qwen3-vl-4b, {agents} agent{'s' if agents > 1 else ''}, 4000 + 75 tokens"
        found.append((f"serving.ours_{agents}", what, serving("qwen3-vl-4b", agents, 4000, 3, 75)))
    for row, reply in (("logprobs", None), ("features", 1)):
        floor = scoring("qwen3-vl-8b", 36, 8, 4096, reply=reply)
        found.append((f"scoring.{row}_qwen3_vl_8b", "36 layers, 8 x 4096", floor))
    candidates = serving("qwen3-vl-8b", 48, 1140, 1, 75, replies=15)
    found.append(("candidates_qwen3_vl_8b", "48 samples of 1140 tokens, 15 replies of 75", candidates))
    found.append(("small_critic", "500 steps of 128, 4096 features", small_critic(4096, 512, 128, 500)))
    return [(f"`{row}`: {what}", floor) for row, what, floor in found]


_DEPTHS = (
    ("training.qwen3_vl_4b_packed_learned", "qwen3-vl-4b", 36, 4096),
    ("training.qwen3_vl_8b_packed_learned", "qwen3-vl-8b", 21, 4096),
    ("training.idefics2_8b_packed_learned", "idefics2-8b", 19, 4096),
    ("training_more.qwen3_vl_4b_packed_frozen", "qwen3-vl-4b", 36, 4096),
    ("training_more.qwen3_vl_8b_packed_frozen", "qwen3-vl-8b", 24, 4096),
    ("training_more.idefics2_8b_packed_frozen", "idefics2-8b", 21, 4096),
    ("training_more.qwen3_vl_4b_padded_learned", "qwen3-vl-4b", 36, 3500),
    ("scoring.critic_qwen3_vl_8b", "qwen3-vl-8b", 24, 4096),
)
"""(row, shape, the layers that the dry run's arithmetic puts on an H200, tokens of a sample)."""


def markdown() -> str:
    """The table."""
    rows = [f"| what | TFLOP | TB | {' | '.join(f'floor on {gpu}, s' for gpu in TB_PER_S)} |", "|---|---|---|---|---|"]
    for name, floor in table():
        figures = (floor.tflop, floor.terabytes, *(floor.seconds(gpu) for gpu in TB_PER_S))
        rows.append(f"| {name} | {' | '.join(map(_told, figures))} |")
    return "\n".join(rows)


def _told(figure: float) -> str:
    return f"{figure:.0f}" if figure >= 100 else f"{figure:.3g}"


if __name__ == "__main__":
    print(markdown())
