"""Idefics3: the Hugging Face SigLIP tower and pixel-shuffle connector in front of a Llama."""

from typing import Any

import torch
from transformers.models.idefics3.modeling_idefics3 import Idefics3Connector, Idefics3VisionTransformer

from training.modules.batching import Pixels
from training.modules.vision_language import VisionLanguageModel


class Model(VisionLanguageModel):
    """A unit is a tile; the connector makes one feature of each square of patches."""

    def build_vision(self, hf: Any) -> None:
        hf.vision_config._attn_implementation = "sdpa"
        self.vision_model = Idefics3VisionTransformer(hf.vision_config)
        self.connector = Idefics3Connector(hf)

    def blank_pixels(self, device: Any) -> Pixels:
        size = self.hf.vision_config.image_size
        return {"pixel_values": torch.zeros(1, 3, size, size, device=device)}

    def run_tower(self, pixels: Pixels) -> torch.Tensor:
        values = pixels["pixel_values"].to(self.vision_model.post_layernorm.weight.dtype)
        return self.vision_model(pixel_values=values).last_hidden_state

    def run_connector(self, hidden: torch.Tensor, pixels: Pixels) -> torch.Tensor:
        return self.connector(hidden)
