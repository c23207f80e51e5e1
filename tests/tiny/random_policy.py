"""Tiny policies of the newer families, of sizes that a seed draws."""

import random
from pathlib import Path
from typing import Any

from tests.tiny import idefics3, qwen2_5_vl, qwen3_vl

FAMILIES = ("qwen2_5_vl", "qwen3_vl", "idefics3")
SECTIONS = {16: [4, 2, 2], 24: [4, 4, 4]}
"""Rotary frequencies of time, row and column, by a head's size."""


def build_random_policy(folder: Path, name: str, seed: int, **text: Any) -> Path:
    """Of the family `name`: of four seeds in a row two have tied embeddings, two queries wider than the hidden states
    (which a Qwen2.5-VL cannot have), three grouped ones, two or three a group; every odd Idefics3 is a SmolVLM."""
    rng = random.Random(f"{name} {seed}")
    kv_heads, head_dim = rng.choice((2, 4)), rng.choice((16, 24))
    heads = kv_heads * (2, 3, 1, 2)[seed % 4]
    width = head_dim - 4 if seed % 4 in (0, 3) else head_dim + 4 * rng.randrange(3)
    hidden_size = heads * (head_dim if name == "qwen2_5_vl" else width)
    text = {
        **{"num_attention_heads": heads, "num_key_value_heads": kv_heads, "head_dim": head_dim},
        **{"hidden_size": hidden_size, "intermediate_size": 8 * rng.randrange(6, 14)},
        **{"layers": rng.choice((4, 5)), "tied": seed % 2 == 0, **text},
    }
    num_vision_heads, size = rng.choice(((2, 32), (4, 32), (2, 48), (4, 64)))
    depth = rng.randrange(3, 6)
    tower = {"hidden_size": size, "intermediate_size": 8 * rng.randrange(4, 12)}
    if name == "idefics3":
        tower |= {"num_hidden_layers": depth - 2, "num_attention_heads": num_vision_heads}
        kind = ("idefics3", "smolvlm")[seed % 2]
        return idefics3.build_policy(folder, kind, splits=rng.random() < 0.5, tower=tower, **text)
    tower |= {"depth": depth, "num_heads": num_vision_heads}
    rope = {"rope_type": "default", "rope_theta": 1e6, "mrope_section": SECTIONS[head_dim]}
    if name == "qwen2_5_vl":
        tower |= {
            "window_size": rng.choice((2, 4, 6)) * qwen2_5_vl.PATCH,
            "fullatt_block_indexes": [rng.randrange(depth)],
        }
        return qwen2_5_vl.build_policy(folder, tower=tower, rope_parameters=rope, **text)
    tower |= {"num_position_embeddings": rng.choice((16, 25, 49))}
    taps = tuple(rng.sample(range(depth), rng.choice((1, 2, 3))))
    return qwen3_vl.build_policy(folder, taps=taps, tower=tower, rope_parameters=rope, **text)
