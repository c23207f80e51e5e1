"""The least time that each figure of a short proof can take: predictions; `python -m tests.gpu.floors` prints them.

A floor is the larger of FLOPs / `TFLOPS` and bytes / TB/s, what one H100 or H200 gives a well-made kernel, or their sum
where one waits for the other; nothing else is counted. A measured figure is read as floor / measured.
"""

import dataclasses
import tempfile
from pathlib import Path
from typing import Any

from common.files import read_json, write_json
from models.processor import load_processor
from models.registry import family, family_of
from tests.rehearsal.checkpoints import SHAPES
from tests.rehearsal.processors import write_processor
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


def shape(name: str, layers: int = 0) -> Any:
    """A released configuration, with fewer layers if that is asked for."""
    hf = family(SHAPES / name).read_config(SHAPES / name)
    text = hf.get_text_config()
    text.num_hidden_layers = layers or text.num_hidden_layers
    return hf


def training(
    name: str, layers: int, samples: int, sample_len: int, tower_learns: bool, reply: int | None = None
) -> Floor:
    """A step over `samples` of one screenshot each, whose last eighth is the reply (a critic reads no more than one
    token of it); weights, gradients and Adam's state (in all 34 bytes a parameter, read and written) are the bytes."""
    hf = shape(name, layers)
    reply = sample_len // 8 if reply is None else reply
    flops = language_flops(hf.get_text_config(), [sample_len] * samples, [reply + 1] * samples, samples * reply)
    flops += samples * (3 if tower_learns else 1) * _image_flops(hf)
    return Floor(flops / 1e12, 34 * _language_parameters(hf) / 1e12)


def scoring(name: str, layers: int, samples: int, sample_len: int, reply: int | None = None) -> Floor:
    """A forward pass over the same, which reads the weights once."""
    whole = training(name, layers, samples, sample_len, tower_learns=False, reply=reply)
    tower = samples * _image_flops(shape(name, layers)) / 1e12
    return Floor((whole.tflop - tower) / 3 + tower, 2 * _language_parameters(shape(name, layers)) / 1e12)


def serving(name: str, agents: int, prompt: int, images: int, reply: int, replies: int = 1) -> Floor:
    """A request of each agent: prompts read at the matrix units' rate, then `reply` steps that read all weights once
    and every agent's keys and values; candidates are `replies` to a prompt that is read once."""
    hf = shape(name)
    text = hf.get_text_config()
    read = agents * (language_flops(text, [prompt], [1], 1) / 3 + images * _image_flops(hf)) / 1e12
    cached = 2 * 2 * text.num_hidden_layers * text.num_key_value_heads * text.head_dim * (prompt + reply / 2)
    written = replies * reply * (2 * _language_parameters(hf) + agents * cached) / 1e12
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


def _image_flops(hf: Any) -> float:
    """Of the tower in a forward pass over a screenshot."""
    with tempfile.TemporaryDirectory() as name:
        folder, fields = Path(name), read_json(_folder_of(hf) / "config.json")
        write_json(folder / "config.json", fields)
        write_processor(folder, fields)
        encoder = family_of(hf).image_encoder(load_processor(folder), hf)
        return family_of(hf).vision_side(hf).image_flops(encoder, *SCREENSHOT)


def _folder_of(hf: Any) -> Path:
    """The released configuration of the same tower."""
    names = {
        "idefics2": "idefics2-8b",
        "qwen3_vl": "qwen3-vl-4b" if hf.text_config.hidden_size == 2560 else "qwen3-vl-8b",
    }
    return SHAPES / names[hf.model_type]


def table() -> list[tuple[str, Floor]]:
    """What docs/howto/gpu.md shows, by the names of `tests/gpu/short_lines.py`."""
    rows = [
        ("training_qwen3_vl_4b", "36 layers, 8 x 4096, tower learns", training("qwen3-vl-4b", 36, 8, 4096, True)),
        ("serving_one", "qwen3-vl-4b, 1 agent, 4000 + 75 tokens", serving("qwen3-vl-4b", 1, 4000, 3, 75)),
        ("serving_many", "16 agents", serving("qwen3-vl-4b", 16, 4000, 3, 75)),
        ("serving_many", "64 agents", serving("qwen3-vl-4b", 64, 4000, 3, 75)),
        ("scoring_qwen3_vl_8b", "36 layers, 8 x 4096", scoring("qwen3-vl-8b", 36, 8, 4096)),
        ("training_qwen3_vl_8b", "16 layers, 8 x 4096, tower frozen", training("qwen3-vl-8b", 16, 8, 4096, False)),
        ("training_idefics2_8b", "16 layers, 8 x 4096, tower learns", training("idefics2-8b", 16, 8, 4096, True)),
        ("critic_features_qwen3_vl_8b", "36 layers, 8 x 4096", scoring("qwen3-vl-8b", 36, 8, 4096, reply=1)),
        (
            "candidates_qwen3_vl_8b",
            "48 samples of 1140 tokens, 15 replies of 75",
            serving("qwen3-vl-8b", 48, 1140, 1, 75, replies=15),
        ),
        (
            "critic_training_qwen3_vl_8b",
            "16 layers, 8 x 4096, tower frozen",
            training("qwen3-vl-8b", 16, 8, 4096, False, reply=1),
        ),
        ("small_critic", "500 steps of 128, 4096 features", small_critic(4096, 512, 128, 500)),
        ("training_padded", "qwen3-vl-4b, 36 layers, 8 x 3500", training("qwen3-vl-4b", 36, 8, 3500, True)),
    ]
    return [(f"`{line}`: {what}", floor) for line, what, floor in rows]


def markdown() -> str:
    """The table."""
    rows = [f"| what | TFLOP | TB | {' | '.join(f'floor on {gpu}, s' for gpu in TB_PER_S)} |", "|---|---|---|---|---|"]
    for name, floor in table():
        seconds = " | ".join(f"{floor.seconds(gpu):.3g}" for gpu in TB_PER_S)
        rows.append(f"| {name} | {floor.tflop:.3g} | {floor.terabytes:.3g} | {seconds} |")
    return "\n".join(rows)


if __name__ == "__main__":
    print(markdown())
