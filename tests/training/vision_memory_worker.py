"""Live bytes of idefics2's tower (one layer) and connector at full width, on fake and on real tensors (4 GB).

    python -m tests.training.vision_memory_worker

prints {"fake": [kept after the forward pass, most], "real": ...} for an image of 20 x 28 patches: what fake tensors say
of the vision side, whose masks and position ids depend on data, can be held against what it does.
"""

import contextlib
import json
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from transformers.models.idefics2.modeling_idefics2 import (
    Idefics2Connector,
    Idefics2VisionTransformer,
)

from benchmarks import fake_rank
from benchmarks.live_bytes import LiveBytes
from benchmarks.memory_by_rank import SHAPE
from models.registry import family

ROWS, COLUMNS = 20, 28


class RealMeter(fake_rank.Meter):
    """Counts alike, and leaves values to the tensors."""

    answer = LiveBytes.answer


def main() -> None:
    """Once on fake tensors, once on real ones."""
    torch.set_default_dtype(torch.bfloat16)
    modes = {"fake": FakeTensorMode(allow_non_fake_inputs=True), "real": contextlib.nullcontext()}
    print(json.dumps({name: measure(mode, name == "real") for name, mode in modes.items()}))


def measure(mode: Any, is_real: bool) -> list[int]:
    hf = family(SHAPE).read_config(SHAPE)
    hf.vision_config.num_hidden_layers = 1
    hf.vision_config._attn_implementation = hf.perceiver_config._attn_implementation = "sdpa"
    meter = (RealMeter if is_real else fake_rank.Meter)(labeled=1)
    with mode, meter:
        tower, connector = Idefics2VisionTransformer(hf.vision_config), Idefics2Connector(hf)
        pixels = torch.zeros(1, 3, ROWS * 14, COLUMNS * 14)
        mask = torch.ones(1, ROWS, COLUMNS, dtype=torch.bool)
        for parameter in (*tower.parameters(), *connector.parameters()):
            parameter.grad = torch.zeros_like(parameter)
        meter.enter("vision")
        hidden = tower(pixel_values=pixels, patch_attention_mask=mask).last_hidden_state
        features = connector(hidden, attention_mask=mask.flatten(1))
        kept = meter.live - meter.start
        features.sum().backward()
    return [kept, meter.peaks["vision"]]


if __name__ == "__main__":
    main()
