"""LLaVA in its authors' own layout, which PAE and Digi-Q keep: a folder of `model.mm_projector...`, PAE's `model.pt`.

Configuration, tokenizer and processor come from a folder of the same model in Hugging Face's layout. So does the vision
tower, where the checkpoint has none because it was left as CLIP released it (LLaVA 1.5). Rows that the vocabulary has
in that configuration alone (for an image, for padding) are the mean of the others.
"""

from pathlib import Path

import torch

from common.errors import UserError
from common.files import read_json
from models.checkpoint.adapter_folder import Adapter, LowRank
from models.checkpoint.hf_folder import BUFFERS, refuse_quantized
from models.checkpoint.row_moves import Move, whole
from models.checkpoint.stored_tensor import meta
from models.checkpoint.weight_tensors import open_file, open_weights
from models.registry import family
from models.weight_table import EMBEDDING, OUTPUT_LAYER
from toolkits.model_checkpoints_convertor.sources import HfSource

PAE_FILE = "model.pt"
_WRAPPERS = ("module.", "base.", "base_model.model.")
"""What accelerate, PAE's agent and PEFT put before every name."""
_RENAMED = (
    ("model.vision_tower.vision_tower.", "vision_tower."),
    ("model.mm_projector.0.", "multi_modal_projector.linear_1."),
    ("model.mm_projector.2.", "multi_modal_projector.linear_2."),
    ("model.image_newline", "image_newline"),
    ("", "language_model."),
)
_VISION = "vision_tower."


def find_original_llava(path: Path) -> Path | None:
    """`path` if a checkpoint in that layout lies there, PAE's file for its folder, else None."""
    if path.is_file():
        return path
    if (path / "config.json").exists():
        fields = read_json(path / "config.json")
        return path if isinstance(fields, dict) and "mm_vision_tower" in fields else None
    return path / PAE_FILE if (path / PAE_FILE).is_file() else None


class OriginalLlavaSource:
    """Such a checkpoint as a `Source`; `adapter` is its low-rank one, if it has any."""

    def __init__(self, path: Path, hf_files: Path | None) -> None:
        """`UserError`: no folder in Hugging Face's layout, a tensor is missing, or one that the model doesn't have."""
        if hf_files is None:
            raise UserError(
                f"{path}: LLaVA's own layout; name a folder of the same model in Hugging Face's, for configuration, "
                "tokenizer and processor, by --config_path (such as llava-hf's of the same name)"
            )
        self.path, self.hf_files, self.family = path, hf_files, family(hf_files)
        self.config = self.family.read_config(hf_files)
        refuse_quantized(path)
        stored = open_file(path) if path.is_file() else open_weights(path)
        named = {hf_name(name): tensor for name, tensor in stored.items() if not name.endswith(BUFFERS)}
        table = self.family.weight_table(self.config)
        names = [name for weight in table for name in weight.hf]
        self._low_rank = {name: named.pop(name) for name in [*named] if ".lora_" in name}
        unused = {"image_newline"}  # where every image is one square
        if unknown := sorted(named.keys() - set(names) - unused):
            raise UserError(f"{path}: has {unknown[0]}, which a {self.family.name} of {hf_files} has not")
        self._stored = {name: named[name] for name in names if name in named}
        missing = [name for name in names if name not in named]
        if lacking := [name for name in missing if not name.startswith(_VISION)]:
            raise UserError(f"{path}: has no tensor {lacking[0]} (and {len(lacking) - 1} more are missing)")
        self._tower = _tower_of(hf_files, path) if missing else None
        self._vocabulary = {weight.hf[0] for weight in table if weight.megatron in (EMBEDDING, OUTPUT_LAYER)}
        rows = self.config.get_text_config().vocab_size
        for name in self._vocabulary:
            if self._stored[name].shape[0] > rows:
                raise UserError(f"{path}: {name} has {self._stored[name].shape[0]} rows, {hf_files} says {rows}")

    def adapter(self, alpha: float | None) -> Adapter | None:
        """PAE's `model.pt` holds weights and adapters apart, and not their alpha (256 in PAE)."""
        if not self._low_rank:
            return None
        if alpha is None:
            raise UserError(
                f"{self.path}: has adapters, and nothing says their alpha; say it with --lora_alpha (PAE's: 256)"
            )
        pairs, rank = {}, 0
        for name in self._stored:
            stem = name.removesuffix(".weight")
            parts = [self._low_rank.pop(f"{stem}.lora_{side}.weight", None) for side in "AB"]
            halves = [part for part in parts if part is not None]
            if len(halves) < 2:
                continue
            a, b = (part.read() for part in halves)
            shape, rank = self._stored[name].shape, rank or a.size(0)
            if (tuple(a.shape), tuple(b.shape)) != ((rank, shape[-1]), (shape[0], rank)):
                raise UserError(f"{self.path}: A {tuple(a.shape)} and B {tuple(b.shape)} do not fit {name} {shape}")
            pairs[name] = LowRank(a, b, alpha / rank)
        if self._low_rank:
            raise UserError(f"{self.path}: has {next(iter(self._low_rank))}, which adapts nothing")
        return Adapter(pairs)

    @property
    def _released(self) -> HfSource:
        """What has the vision tower that is missing here."""
        assert self._tower is not None
        return self._tower

    def meta(self, name: str) -> torch.Tensor:
        """Shape and type."""
        if name not in self._stored:
            return self._released.meta(name)
        tensor = self._stored[name]
        rows = self.config.get_text_config().vocab_size if name in self._vocabulary else tensor.shape[0]
        return meta((rows, *tensor.shape[1:]), tensor.dtype)

    def read(self, name: str) -> torch.Tensor:
        """The tensor itself."""
        if name not in self._stored:
            return self._released.read(name)
        tensor = self._stored[name].read()
        missing = self.meta(name).shape[0] - tensor.size(0)
        if not missing:
            return tensor
        return torch.cat([tensor, tensor.float().mean(0, keepdim=True).to(tensor.dtype).expand(missing, -1)])

    def moves(self, name: str) -> list[Move] | None:
        """None where rows are added."""
        if name not in self._stored:
            return self._released.moves(name)
        stored = self._stored[name]
        return whole(stored) if self.meta(name).shape == stored.shape else None


def hf_name(name: str) -> str:
    """What llava-hf's releases call a tensor of LLaVA's own layout, wrapped or not."""
    for wrapper in _WRAPPERS:
        name = name.removeprefix(wrapper)
    name = name.replace(".base_layer.", ".").replace(".default.weight", ".weight")
    start, ours = next((start, ours) for start, ours in _RENAMED if name.startswith(start))
    return ours + name.removeprefix(start)


def _tower_of(hf_files: Path, path: Path) -> HfSource:
    try:
        return HfSource(hf_files)
    except UserError as error:
        raise UserError(
            f"{path}: has no vision tower of its own, so --config_path must have the weights of one: {error}"
        ) from None
