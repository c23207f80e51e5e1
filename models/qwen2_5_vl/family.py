"""Qwen2.5-VL's facts."""

from pathlib import Path
from typing import Any

from models.qwen3_vl import family


class Family(family.Family):
    """As Qwen3-VL, before a Qwen2.5: biases instead of head norms, other frequencies, no deepstack."""

    name = "qwen2_5_vl"
    normalizes_heads = False
    has_qkv_bias = True
    mrope = "chunked"

    def load_processor(self, folder: Path) -> Any:
        from models.qwen2_5_vl.processor import Qwen2_5_VLProcessor

        return Qwen2_5_VLProcessor.from_pretrained(folder, local_files_only=True)


FAMILY = Family()
