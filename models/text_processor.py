"""A tokenizer in the place of a processor, for models that read no images."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from transformers import AutoTokenizer

from common.errors import UserError
from models.family import NO_IMAGES


class TextProcessor:
    """Takes messages as processors do, whose content is a list of parts; chat templates of texts take strings."""

    image_processor = None

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer

    @classmethod
    def from_pretrained(cls, folder: Path) -> "TextProcessor":
        """That of the files in `folder`; raises what transformers raises."""
        return cls(AutoTokenizer.from_pretrained(folder, local_files_only=True))

    @property
    def chat_template(self) -> str | dict[str, str] | None:
        """The tokenizer's own, or several by name: `tool_use` where tools are given, else `default`."""
        return self.tokenizer.chat_template

    def apply_chat_template(self, messages: Sequence[dict[str, Any]], **options: Any) -> str:
        """Their text.

        Raises:
            UserError: a part is an image.
        """
        plain = [{**message, "content": "".join(map(_text, message["content"]))} for message in messages]
        return self.tokenizer.apply_chat_template(plain, **{"tokenize": False, **options})

    def __call__(self, text: Any, images: Any = None, **options: Any) -> Any:
        """The tokens of what `apply_chat_template` gave, which has its first ones or is to have none."""
        if images:
            raise UserError(NO_IMAGES)
        return self.tokenizer(text, **{"add_special_tokens": False, **options})

    def save_pretrained(self, folder: Path) -> None:
        """The tokenizer's files and the chat template."""
        self.tokenizer.save_pretrained(folder)


def _text(part: dict[str, Any]) -> str:
    if part["type"] == "image":
        raise UserError(NO_IMAGES)
    return part["text"]
