"""Qwen3's facts."""

from models.text_family import TextFamily


class Family(TextFamily):
    """As Llama, with norms of queries and keys."""

    name = "qwen3"
    end_tokens = ("<|im_end|>",)
    normalizes_heads = True


FAMILY = Family()
