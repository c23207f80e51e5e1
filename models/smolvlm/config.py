"""What of a SmolVLM2's configuration is supported."""

from models.idefics3.config import check

__all__ = ["check"]
