"""SmolVLM2: the same modules as Idefics3's."""

from training.modules.idefics3.model import Model

__all__ = ["Model"]
