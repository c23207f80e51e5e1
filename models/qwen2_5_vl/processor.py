"""Qwen2.5-VL's processor for images alone."""

from typing import Any

from transformers.models.qwen2_5_vl import processing_qwen2_5_vl


class Qwen2_5_VLProcessor(processing_qwen2_5_vl.Qwen2_5_VLProcessor):  # noqa: N801
    """Hugging Face's without its video processor, which does not load where torchvision is missing."""

    def __init__(
        self, image_processor: Any = None, tokenizer: Any = None, chat_template: str | None = None, **_: Any
    ) -> None:
        super().__init__(image_processor, tokenizer, chat_template=chat_template)
