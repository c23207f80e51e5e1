"""The Megatron model of each family."""

import importlib

from models.family import Family


def model_class(family: Family) -> type:
    """A `VisionLanguageModel`; ask for it after `kernels.prepare()`."""
    folder = family.name if family.reads_images else "text_only"
    return importlib.import_module(f"training.modules.{folder}.model").Model
