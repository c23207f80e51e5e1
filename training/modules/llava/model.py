"""LLaVA: the Hugging Face CLIP tower and two-layer connector in front of a Vicuna or Llama."""

from typing import Any

import torch
from transformers import CLIPVisionModel
from transformers.models.llava.modeling_llava import LlavaMultiModalProjector

from models.llava.config import feature_layers
from training.modules.batching import Pixels
from training.modules.vision_language import VisionLanguageModel


class ClipTower(CLIPVisionModel):
    """CLIP up to the last layer whose features are used; what comes after it is kept as it was, for the way back."""

    def __init__(self, hf: Any) -> None:
        hf.vision_config._attn_implementation = "sdpa"
        super().__init__(hf.vision_config)
        self.taken = feature_layers(hf)
        self.drops_class_token = hf.vision_feature_select_strategy == "default"
        for unused in (self.post_layernorm, *self.encoder.layers[max(self.taken) :]):
            unused.requires_grad_(False)

    def forward(  # pyright: ignore[reportIncompatibleMethodOverride]  # we alone call it
        self, pixel_values: torch.Tensor
    ) -> torch.Tensor:
        """[n, 3, height, width] -> [n, patches, hidden * layers taken]."""
        states = [self.pre_layrnorm(self.embeddings(pixel_values))]
        for layer in self.encoder.layers[: max(self.taken)]:
            states.append(layer(states[-1], None))
        taken = torch.cat([states[number] for number in self.taken], dim=-1)
        return taken[:, 1:] if self.drops_class_token else taken


class Model(VisionLanguageModel):
    """A unit is an image; each of its patches is a feature."""

    def build_vision(self, hf: Any) -> None:
        self.vision_tower = ClipTower(hf)
        self.multi_modal_projector = LlavaMultiModalProjector(hf)

    def blank_pixels(self, device: Any) -> Pixels:
        size = self.hf.vision_config.image_size
        return {"pixel_values": torch.zeros(1, 3, size, size, device=device)}

    def run_tower(self, pixels: Pixels) -> torch.Tensor:
        return self.vision_tower(pixels["pixel_values"].to(self.vision_tower.post_layernorm.weight.dtype))

    def run_connector(self, hidden: torch.Tensor, pixels: Pixels) -> torch.Tensor:
        return self.multi_modal_projector(hidden)
