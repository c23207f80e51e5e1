"""Qwen2's facts, which are also Qwen2.5's."""

from models.text_family import TextFamily


class Family(TextFamily):
    """As Llama, with biases of queries, keys and values."""

    name = "qwen2"
    end_tokens = ("<|im_end|>",)
    has_qkv_bias = True


FAMILY = Family()
