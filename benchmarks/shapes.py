"""Models of a released shape, with random weights: whole, with fewer layers, or with narrow ones for a CPU.

Their names are the folders of training/memory/shapes.
"""

import functools
import tempfile
from pathlib import Path
from typing import Any

import torch

from common.errors import UserError
from common.files import read_json, write_json
from models.images import ImageEncoder
from models.processor import load_processor
from models.registry import family, family_of
from tests.rehearsal.checkpoints import SHAPES
from tests.rehearsal.processors import write_processor
from tests.rehearsal.sizes import SIZES


def released(name: str, layers: int = 0) -> Any:
    """The released configuration, its language model with so many layers; 0: all."""
    hf = family(SHAPES / name).read_config(SHAPES / name)
    text = hf.get_text_config()
    text.num_hidden_layers = layers or text.num_hidden_layers
    return hf


def tiny(name: str) -> Any:
    """The configuration of `tiny_fields`."""
    with tempfile.TemporaryDirectory() as folder:
        write_json(Path(folder) / "config.json", tiny_fields(name))
        return family(Path(folder)).read_config(Path(folder))


def tiny_fields(name: str) -> dict[str, Any]:
    """config.json with narrow layers; images take as many tokens."""
    size = next((size for size in SIZES["tiny"].values() if size.shape == name), None)
    if size is None:
        known = ", ".join(sorted(size.shape for size in SIZES["tiny"].values()))
        raise UserError(f"--shape {name}: on a CPU there are {known}")
    fields = read_json(SHAPES / name / "config.json")
    for part, values in size.changes.items():
        fields[part] |= values
    return fields


@functools.cache
def image_encoder(name: str) -> ImageEncoder:
    """Of the released processor, whose tokenizer takes seconds to make; a tiny shape's images are read by the same."""
    with tempfile.TemporaryDirectory() as scratch:
        folder, fields = Path(scratch), read_json(SHAPES / name / "config.json")
        write_json(folder / "config.json", fields)
        write_processor(folder, fields)
        hf = released(name)
        return family_of(hf).image_encoder(load_processor(folder), hf)


def draw_weights(model: torch.nn.Module) -> None:
    """Small random ones, alike on all ranks; norms begin at one."""
    torch.manual_seed(0)
    for name, parameter in model.named_parameters():
        if parameter.dim() > 1:
            parameter.data.normal_(std=0.02)
        else:
            parameter.data.fill_(0.0 if name.endswith("bias") else 1.0)
