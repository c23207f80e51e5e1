"""Which models there are. A family is named by `model_type` in config.json and lives in a folder of that name."""

import importlib

NAMES = ("idefics2", "llava", "llava_next")


def image_encoder_class(name: str) -> type:
    """The `models.images.ImageEncoder` of a family; imported when it is asked for."""
    return importlib.import_module(f"models.{name}.images").ImageEncoder
