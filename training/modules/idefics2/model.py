"""idefics2: the Hugging Face SigLIP tower and perceiver connector in front of a Mistral."""

from typing import Any

import torch
from transformers.models.idefics2.modeling_idefics2 import Idefics2Connector, Idefics2VisionTransformer

from training.modules.batching import Pixels
from training.modules.vision_language import VisionLanguageModel


class Model(VisionLanguageModel):
    """A unit is an image; the connector makes as many features of each as it has latents."""

    def build_vision(self, hf: Any) -> None:
        hf.vision_config._attn_implementation = hf.perceiver_config._attn_implementation = "sdpa"
        self.vision_model = Idefics2VisionTransformer(hf.vision_config)
        self.connector = Idefics2Connector(hf)

    def blank_pixels(self, device: Any) -> Pixels:
        size = self.hf.vision_config.patch_size
        mask = torch.ones(1, 1, 1, dtype=torch.bool, device=device)
        return {"pixel_values": torch.zeros(1, 3, size, size, device=device), "patch_mask": mask}

    def run_tower(self, pixels: Pixels) -> torch.Tensor:
        values = pixels["pixel_values"].to(self.vision_model.post_layernorm.weight.dtype)
        return self.vision_model(pixel_values=values, patch_attention_mask=pixels["patch_mask"]).last_hidden_state

    def run_connector(self, hidden: torch.Tensor, pixels: Pixels) -> torch.Tensor:
        return self.connector(hidden, attention_mask=pixels["patch_mask"].flatten(1))
