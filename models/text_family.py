"""A family of language models alone: what a vision side would say is said once for all of them, that there is none."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from models import family

if TYPE_CHECKING:
    from models.no_images import NoImages, NoVision
    from models.weight_table import Weight


class TextFamily(family.Family):
    """Hugging Face's layers below `model.` and its `lm_head`; a subclass gives the name and what differs in a layer."""

    reads_images = False
    tower_names = ()
    connector_names = ()

    def check(self, path: Path, config: Any) -> None:
        from models.language import check_text, refuse_window

        config.head_dim = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        check_text(path, config, (self.name,), self.has_qkv_bias)
        refuse_window(path, config)

    def auto_model(self) -> Any:
        from transformers import AutoModelForCausalLM

        return AutoModelForCausalLM

    def load_processor(self, folder: Path) -> Any:
        from models.text_processor import TextProcessor

        return TextProcessor.from_pretrained(folder)

    def weight_table(self, config: Any) -> "list[Weight]":
        from models.weight_table import language_weights

        return list(language_weights(config, "model.", "lm_head.weight", self.normalizes_heads, self.has_qkv_bias))

    def spellings(self, name: str) -> Iterator[str]:
        yield name

    def image_encoder(self, processor: Any, config: Any) -> "NoImages":
        from models.no_images import NoImages

        return NoImages(processor, config)

    def vision_side(self, config: Any) -> "NoVision":
        from models.no_images import NoVision

        return NoVision(config)
