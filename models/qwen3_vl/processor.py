"""Qwen3-VL's processor for images alone."""

from typing import Any

from transformers.models.qwen3_vl import processing_qwen3_vl


class Qwen3VLProcessor(processing_qwen3_vl.Qwen3VLProcessor):
    """Hugging Face's without its video processor, which does not load where torchvision is missing."""

    def __init__(
        self, image_processor: Any = None, tokenizer: Any = None, chat_template: str | None = None, **_: Any
    ) -> None:
        super().__init__(image_processor, tokenizer, chat_template=chat_template)
