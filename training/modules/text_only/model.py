"""A language model alone: the common model with nothing on its vision side."""

from typing import Any

import torch

from training.modules.batching import Images
from training.modules.vision_language import VisionLanguageModel


class Model(VisionLanguageModel):
    """Token embeddings go to the language model as they are."""

    def build_vision(self, hf: Any) -> None:
        """Nothing is to be built."""

    def marks(self, tokens: torch.Tensor) -> torch.Tensor:
        return torch.zeros_like(tokens, dtype=torch.bool)

    def _encode(self, images: Images) -> torch.Tensor:
        return torch.zeros(0, self.config.hidden_size, device=torch.cuda.current_device())
