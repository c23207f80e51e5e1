"""Qwen3-VL's facts."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from models import family

if TYPE_CHECKING:
    import torch


class Family(family.Family):
    """A vision transformer with mergers before a Qwen3.

    Training as Qwen's own `qwen-vl-finetune` does it: mergers and language model learn. Its learning rate of 2e-7 is
    not taken over: it continues on data of the kind that the model has seen.
    """

    name = "qwen3_vl"
    tower_names = ("visual",)
    connector_names = ("connector",)
    end_tokens = ("<|im_end|>",)
    sizes_are_pixels = True
    normalizes_heads = True
    mrope = "interleaved"
    training = {"GLOBAL_BATCH_SIZE": "128", "FREEZE_VISION": "true"}  # noqa: RUF012

    def load_processor(self, folder: Path) -> Any:
        from models.qwen3_vl.processor import Qwen3VLProcessor

        return Qwen3VLProcessor.from_pretrained(folder, local_files_only=True)

    def num_deepstack(self, config: Any) -> int:
        return len(getattr(config.vision_config, "deepstack_visual_indexes", ()))

    def image_features(self, hf_model: Any, pixels: "Mapping[str, torch.Tensor]") -> "torch.Tensor":
        import torch

        found = hf_model.get_image_features(**pixels, return_dict=True)
        parts = (
            found.pooler_output,
            *getattr(found, "deepstack_features", ()),
        )  # of each image; in transformers 5.17 one
        return torch.cat([part if torch.is_tensor(part) else torch.cat(list(part)) for part in parts], dim=-1)


FAMILY = Family()
