"""SmolVLM2's facts."""

from pathlib import Path
from typing import Any

from models.idefics3 import family


class Family(family.Family):
    """As Idefics3."""

    name = "smolvlm"

    def load_processor(self, folder: Path) -> Any:
        """Idefics3's, which makes the same text and pixels of images; its own wants packages that videos need."""
        from transformers import Idefics3Processor

        return Idefics3Processor.from_pretrained(folder, local_files_only=True)


FAMILY = Family()
