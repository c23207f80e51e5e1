"""A model family: every fact that trainer, scorer, server and converters need to know of it, and where they ask.

`models/<name>/` has the same files for each: `family.py` sets `FAMILY`, an instance of a subclass with the small facts;
`config.py`, `weights.py`, `images.py` and `vision.py` hold the large ones and are imported when they are asked for, so
that a command that only needs a name starts at once. A language model alone has `family.py` (`text_family.py`).
"""

import importlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from common.errors import UserError
from common.files import read_object
from models.image_settings import ImageSettings

if TYPE_CHECKING:
    import torch

    from models.images import ImageEncoder
    from models.vision import VisionSide
    from models.weight_table import Weight

NO_IMAGES = (
    "this model reads no images; collect with --text_only, convert trajectories with --last_n 0, or leave them out"
)
"""What is said where a model alone, without a vision side, is given an image."""


class Family:
    """What differs between families. The defaults hold for those that say nothing else."""

    name: str
    """`model_type` in config.json, and the name of its folders in `models/` and `training/modules/`."""
    reads_images = True
    """False of a language model alone (`models/text_family.py`)."""
    tower_names: tuple[str, ...]
    """The vision side's modules that make hidden states of pixels, by Hugging Face's names without `model.`."""
    connector_names: tuple[str, ...]
    """Those that make features for the language model of them."""
    end_tokens: tuple[str, ...] = ()
    """What ends a reply beside the tokenizer's own end and what the generation config names."""
    chat_template: str | None = None
    """That of checkpoints which come without one."""
    published_images: ImageSettings | None = None
    """How the released models that this project continues were trained, where the processor files of the family's
    release say otherwise: such a release asks for splitting."""
    parts_of_split_image: int | str = 1
    """Units of an image where the processor splits images; a word where it depends on the image."""
    sizes_are_pixels = False
    """The image processor's `size` counts the pixels of an image, least and most, rather than its edges."""
    normalizes_heads = False
    """Queries and keys are normalized head by head (RMSNorm) before they are rotated."""
    has_qkv_bias = False
    """Queries, keys and values have biases; no other projection of the language model has."""
    rotates_neighbors = False
    """Rotary embeddings turn pairs of neighbors in a head; else each number with the one half a head further."""
    mrope: Literal["interleaved", "chunked"] | None = None
    """How a head's frequencies are dealt out to the rows of `ImageEncoder.position_ids`."""
    training: Mapping[str, str] = {}
    """Published values of training options (`training/options.py`) that differ from the defaults, by variable."""

    def read_config(self, folder: Path) -> Any:
        """The Hugging Face configuration in `folder`, checked by `check`.

        Raises:
            UserError: there is none, it is another family's, or it asks for what is not computed here.
        """
        config = self.parse_config(folder)
        self.check(Path(folder) / "config.json", config)
        return config

    def parse_config(self, folder: Path) -> Any:
        """The Hugging Face configuration in `folder`, whatever it asks for: transformers may compute it.

        Raises:
            UserError: there is none, or it is another family's.
        """
        path = Path(folder) / "config.json"
        fields = read_object(path)
        if fields.get("model_type") != self.name:
            raise UserError(f"{path}: model_type is {fields.get('model_type')!r}, not {self.name}")
        from transformers import CONFIG_MAPPING

        try:
            return CONFIG_MAPPING[self.name].from_dict(fields)
        except Exception as error:  # its classes check their fields, each with an error of its own
            raise UserError(f"{path}: {' '.join(str(error).split())}") from None

    def check(self, path: Path, config: Any) -> None:
        """`UserError`, naming the file `path`, for what is not computed here."""
        self._file("config").check(path, config)

    def auto_model(self) -> Any:
        """Hugging Face's class that loads its models."""
        from transformers import AutoModelForImageTextToText

        return AutoModelForImageTextToText

    def load_processor(self, folder: Path) -> Any:
        """Hugging Face's processor of the files in `folder`; raises what transformers raises."""
        from transformers import AutoProcessor

        return AutoProcessor.from_pretrained(folder, local_files_only=True)

    def weight_table(self, config: Any) -> "list[Weight]":
        """Every weight of a configuration, once."""
        return self._file("weights").weight_table(config)

    def spellings(self, name: str) -> Iterator[str]:
        """A tensor's name in the table -> its names over the versions of transformers, the newest in memory last."""
        return self._file("weights").spellings(name)

    def image_encoder(self, processor: Any, config: Any) -> "ImageEncoder":
        """How images become text, pixels and positions; `UserError` for a processor of another model."""
        encoder = self._file("images").ImageEncoder(processor, config)
        encoder.check()
        return encoder

    def vision_side(self, config: Any) -> "VisionSide":
        """Its numbers, for memory and FLOPs."""
        return self._file("vision").VisionSide(config)

    @property
    def legacy(self) -> Any:
        """The module `legacy.py` where OpenWebVoyager's Megatron checkpoints exist of the family; else None."""
        return None

    def written_fields(self, config: Any) -> dict[str, dict[str, Any]]:
        """What a converter writes into parts of config.json, since a checkpoint's weights may differ from it."""
        return {}

    def num_deepstack(self, config: Any) -> int:
        """How many decoder layers, from the first on, have features of the tower's inner layers added behind them."""
        return 0

    def image_features(self, hf_model: Any, pixels: "Mapping[str, torch.Tensor]") -> "torch.Tensor":
        """[image tokens, hidden * (1 + num_deepstack)]: what stands for one image in the input of the language model of
        Hugging Face, and what is added to it behind the first layers."""
        import torch

        features = hf_model.get_image_features(**pixels, return_dict=True).pooler_output
        return torch.cat([feature.reshape(-1, feature.shape[-1]) for feature in features])

    def end_ids(self, tokenizer: Any, generation: Any) -> list[int]:
        """The tokens that end a reply."""
        listed = generation.eos_token_id
        ids = set(listed if isinstance(listed, list) else [] if listed is None else [listed])
        ids.add(tokenizer.eos_token_id)
        ids.update(tokenizer.get_vocab().get(token) for token in self.end_tokens)
        return sorted(ids - {None})

    def forbidden_ids(self, generation: Any) -> list[int]:
        """The tokens that a reply must not have: the release's single bad words."""
        return [word[0] for word in generation.bad_words_ids or [] if len(word) == 1]

    def _file(self, name: str) -> Any:
        return importlib.import_module(f"{type(self).__module__.rpartition('.')[0]}.{name}")
