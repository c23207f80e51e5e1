"""The least time that each figure of a short proof can take: predictions, `python -m tests.gpu.floors` prints them.

A floor is the larger of FLOPs / `TFLOPS` and bytes / `TB_PER_S`, what one H100 gives a well-made kernel; nothing else
is counted. A measured figure is read as floor / measured.
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

TFLOPS, TB_PER_S = 790.0, 3.0
SCREENSHOT = (768, 1024)


@dataclasses.dataclass(frozen=True)
class Floor:
    """`tflop` and `terabytes` of the work, and the seconds below which it cannot be done."""

    tflop: float
    terabytes: float

    @property
    def seconds(self) -> float:
        return max(self.tflop / TFLOPS, self.terabytes / TB_PER_S)


def shape(name: str, layers: int = 0) -> Any:
    """A released configuration, with fewer layers if that is asked for."""
    hf = family(SHAPES / name).read_config(SHAPES / name)
    text = hf.get_text_config()
    text.num_hidden_layers = layers or text.num_hidden_layers
    return hf


def training(name: str, layers: int, samples: int, sample_len: int, tower_learns: bool) -> Floor:
    """A step over `samples` of one screenshot each, whose last eighth is the reply; weights, gradients and Adam's state
    (in all 34 bytes a parameter, read and written) are the bytes."""
    hf = shape(name, layers)
    reply = sample_len - sample_len * 7 // 8
    flops = language_flops(hf.get_text_config(), [sample_len] * samples, [reply + 1] * samples, samples * reply)
    flops += samples * (3 if tower_learns else 1) * _image_flops(hf)
    return Floor(flops / 1e12, 34 * _language_parameters(hf) / 1e12)


def scoring(name: str, layers: int, samples: int, sample_len: int) -> Floor:
    """A forward pass over the same, which reads the weights once."""
    whole = training(name, layers, samples, sample_len, tower_learns=False)
    tower = samples * _image_flops(shape(name, layers)) / 1e12
    return Floor((whole.tflop - tower) / 3 + tower, 2 * _language_parameters(shape(name, layers)) / 1e12)


def serving(name: str, agents: int, prompt: int, images: int, reply: int) -> Floor:
    """A request of each agent: prompts read at the matrix units' rate, then `reply` steps that read all weights once
    and every agent's keys and values."""
    hf = shape(name)
    text = hf.get_text_config()
    read = agents * (language_flops(text, [prompt], [1], 1) / 3 + images * _image_flops(hf)) / 1e12
    cached = 2 * 2 * text.num_hidden_layers * text.num_key_value_heads * text.head_dim * (prompt + reply / 2)
    written = reply * (2 * _language_parameters(hf) + agents * cached) / 1e12
    return Floor(read + written / TB_PER_S * TFLOPS, 0.0)  # one after the other


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
    """What docs/results/gpu_proof.md shows."""
    return [
        ("training, qwen3-vl-4b, 36 layers, 8 x 4096, tower learns", training("qwen3-vl-4b", 36, 8, 4096, True)),
        ("training, qwen3-vl-8b, 16 layers, 8 x 4096, tower frozen", training("qwen3-vl-8b", 16, 8, 4096, False)),
        ("training, idefics2-8b, 16 layers, 8 x 4096, tower learns", training("idefics2-8b", 16, 8, 4096, True)),
        ("scoring, qwen3-vl-8b, 36 layers, 8 x 4096", scoring("qwen3-vl-8b", 36, 8, 4096)),
        *(
            (f"serving, qwen3-vl-4b, {agents} agents, 4000 + 75 tokens", serving("qwen3-vl-4b", agents, 4000, 3, 75))
            for agents in (1, 16, 64)
        ),
    ]


if __name__ == "__main__":
    print("| what | TFLOP or its like | floor, s |\n|---|---|---|")
    for name, floor in table():
        print(f"| {name} | {floor.tflop:.0f} | {floor.seconds:.2f} |")
