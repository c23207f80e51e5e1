"""idefics2's facts. The values that its training publishes are the defaults of `training/options.py`."""

from typing import Any

from models import family
from models.idefics2 import published
from models.idefics2.chat_template import CHAT_TEMPLATE


class Family(family.Family):
    """SigLIP and a perceiver before a Mistral."""

    name = "idefics2"
    tower_names = ("vision_model",)
    connector_names = ("connector",)
    end_tokens = ("<end_of_utterance>",)
    chat_template = CHAT_TEMPLATE
    published_images = published.IMAGES
    parts_of_split_image = 5

    @property
    def legacy(self) -> Any:
        return self._file("legacy")

    def written_fields(self, config: Any) -> dict[str, dict[str, Any]]:
        """How many key/value heads the perceiver has: OpenWebVoyager's training may have made copies differ."""
        return {"perceiver_config": {"num_key_value_heads": config.perceiver_config.num_key_value_heads}}


FAMILY = Family()
