"""Llama's facts."""

from models.text_family import TextFamily


class Family(TextFamily):
    """Grouped queries, and from 3.1 on scaled frequencies. WebRL trains Llama 3.1 (arXiv 2411.02337)."""

    name = "llama"


FAMILY = Family()
