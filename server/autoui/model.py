"""Auto-UI's model: a T5 that reads the action before and the goal, and sees one vector of the screenshot.

The layout is that of the released weights (cooelf/Auto-UI), as DigiRL loads them: T5's own tensors, and three layers
that mix the picture into what the encoder made. The vector is what BLIP-2's vision model pools of a screenshot.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from PIL import Image
from safetensors import safe_open
from torch import Tensor, nn
from transformers import (
    AutoImageProcessor,
    AutoTokenizer,
    Blip2VisionConfig,
    Blip2VisionModel,
    T5Config,
    T5ForConditionalGeneration,
)
from transformers.modeling_outputs import BaseModelOutput

from common.errors import UserError
from common.files import read_object
from models.checkpoint.weight_files import find_weight_files

MAX_PROMPT_TOKENS = 512
_VISION = "vision_model."


class PictureGate(nn.Module):
    """Every state of the encoder looks at the picture, and a gate decides how much of it replaces the state."""

    def __init__(self, picture_size: int, hidden: int):
        super().__init__()
        self.image_dense = nn.Linear(picture_size, hidden)
        self.mha_layer = nn.MultiheadAttention(hidden, num_heads=1, batch_first=True)
        self.gate_dense = nn.Linear(2 * hidden, hidden)

    def forward(self, states: Tensor, picture: Tensor) -> Tensor:
        """[1, tokens, hidden] of the encoder and [1, picture_size] to [1, tokens, hidden]."""
        seen = self.image_dense(picture).unsqueeze(1)
        attended, _ = self.mha_layer(states, seen, seen)
        gate = torch.sigmoid(self.gate_dense(torch.cat([states, attended], dim=-1)))
        return (1 - gate) * states + gate * attended


class TextModel(T5ForConditionalGeneration):
    """Beside whose tensors lie those of `PictureGate`."""

    _keys_to_ignore_on_load_unexpected = ("image_dense", "mha_layer", "gate_dense")


class AutoUI:
    """The policy in `folder` (config.json, a tokenizer, weights), and BLIP-2 in the folder `vision`, of which only the
    vision model is read.

    Raises:
        UserError: a folder holds something else.
    """

    def __init__(self, folder: Path, vision: Path, device: torch.device):
        config = read_object(folder / "config.json") or {}
        if config.get("model_type") != "t5":
            raise UserError(f"{folder}: is no Auto-UI, whose config.json has the model_type t5")
        gates = read_tensors(folder, lambda name: name.startswith(("image_dense.", "mha_layer.", "gate_dense.")))
        if "image_dense.weight" not in gates:
            raise UserError(f"{folder}: is a T5 without Auto-UI's layers image_dense, mha_layer, gate_dense")
        self.device = device
        self.tokenizer = AutoTokenizer.from_pretrained(folder, truncation_side="left")
        self.t5: Any = TextModel.from_pretrained(folder, config=T5Config.from_dict(config), dtype="float32")
        self.gate = PictureGate(gates["image_dense.weight"].shape[1], config["d_model"])
        self.gate.load_state_dict(gates)
        self.vision, self.processor = load_vision(vision), AutoImageProcessor.from_pretrained(vision)
        if self.vision.config.hidden_size != gates["image_dense.weight"].shape[1]:
            raise UserError(
                f"{vision}: its pictures are vectors of {self.vision.config.hidden_size} numbers, and {folder} reads "
                f"{gates['image_dense.weight'].shape[1]}"
            )
        parts: list[nn.Module] = [self.t5, self.gate, self.vision]
        for part in parts:
            part.to(device).eval()

    @torch.no_grad()
    def reply(self, prompt: str, screenshot: Image.Image, **sampling: float) -> tuple[str, int, int]:
        """(what it says, tokens read, tokens said); `sampling` are arguments of transformers' `generate`. The end of
        `prompt` counts where it is too long."""
        read = self.tokenizer(prompt, return_tensors="pt", truncation=True, max_length=MAX_PROMPT_TOKENS)
        ids = read["input_ids"].to(self.device)
        states = self.t5.get_encoder()(input_ids=ids).last_hidden_state
        mixed = BaseModelOutput(last_hidden_state=self.gate(states, self.picture(screenshot)))
        said = self.t5.generate(encoder_outputs=mixed, attention_mask=torch.ones_like(ids), **sampling)[0]
        text = self.tokenizer.decode(said, skip_special_tokens=True).strip()
        return text, ids.shape[1], len(said) - 1  # it begins with a token of its own

    def picture(self, screenshot: Image.Image) -> Tensor:
        """[1, picture_size] of a screenshot."""
        pixels = self.processor(images=screenshot, return_tensors="pt")["pixel_values"].to(self.device)
        return self.vision(pixels).pooler_output


def load_vision(folder: Path) -> Blip2VisionModel:
    """BLIP-2's vision model, without reading the language model beside it."""
    config = read_object(folder / "config.json") or {}
    if "vision_config" not in config or config.get("model_type") != "blip-2":
        raise UserError(f"{folder}: is no BLIP-2, such as Salesforce/blip2-opt-2.7b")
    model = Blip2VisionModel(Blip2VisionConfig.from_dict(config["vision_config"]))
    tensors = read_tensors(folder, lambda name: name.startswith(_VISION))
    missing, unexpected = model.load_state_dict(
        {name.removeprefix(_VISION): tensor.float() for name, tensor in tensors.items()}, strict=False
    )
    if missing or unexpected:
        raise UserError(f"{folder}: its vision model lacks or does not know {', '.join((missing + unexpected)[:3])}")
    return model


def read_tensors(folder: Path, is_wanted: Callable[[str], bool]) -> dict[str, Tensor]:
    """Those of a checkpoint, from safetensors, or from PyTorch's files without running what they hold."""
    found: dict[str, Tensor] = {}
    files = find_weight_files(folder)
    for path in files.paths:
        if files.are_pickles:
            held = torch.load(path, map_location="cpu", weights_only=True, mmap=True)
            found |= {name: tensor for name, tensor in held.items() if is_wanted(name)}
        else:
            with safe_open(path, framework="pt") as opened:
                found |= {name: opened.get_tensor(name) for name in opened.keys() if is_wanted(name)}  # noqa: SIM118
    return found
