"""Average checkpoints in Hugging Face format: a policy before a round with the one after it, or several of one start.

    python toolkits/average_checkpoints.py --policies runs/IL/policy runs/optim-1/trained --save_path averaged

What fine-tuning forgets and what it learns lie far apart in the weights, and between the two ends most of both is there
(WiSE-FT: Wortsman et al. 2022, arXiv:2109.01903; model soups: arXiv:2203.05482). One tensor of each is in memory at a
time. Configuration, tokenizer and processor are those of the last.
"""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from common import cli
from common.errors import UserError
from common.files import read_object
from common.garbage import unsearched
from common.options.limits import Checked, above

with unsearched():
    import torch

    from models.checkpoint.hf_folder import read_hf_folder
    from models.checkpoint.output_folder import complete_folder, require_space
    from models.checkpoint.safetensors_writer import SafetensorsWriter
    from models.checkpoint.stored_tensor import StoredTensor, meta

_WEIGHTS = ("model*.safetensors", "model.safetensors.index.json", "pytorch_model*")


@dataclass(frozen=True)
class Config(Checked):
    """Average checkpoints of one architecture."""

    policies: tuple[Path, ...]
    """Hugging Face folders, two or more."""
    save_path: Path
    """The folder to write; a checkpoint that is there is replaced when the new one is complete."""
    shares: tuple[float, ...] = ()
    """How much each counts, in their order and together 1. Empty: all the same."""
    max_shard_size_gb: Annotated[float, above(0)] = 5.0
    """Larger checkpoints become several files."""

    def check_together(self) -> None:
        if len(self.policies) < 2:
            raise UserError("--policies: give two checkpoints or more")
        if self.shares and (len(self.shares) != len(self.policies) or abs(sum(self.shares) - 1) > 1e-6):
            raise UserError("--shares: give a number for each of --policies, together 1")


def main(config: Config) -> None:
    """Write their mean."""
    count = len(config.policies)
    shares = config.shares or (1 / count,) * count
    opened = [read_hf_folder(folder).stored for folder in config.policies]
    for folder, weights in zip(config.policies[:-1], opened[:-1], strict=True):
        _check_same(folder, weights, config.policies[-1], opened[-1])
    announced = [(name, meta(tensor.shape, tensor.dtype)) for name, tensor in opened[-1].items()]
    with complete_folder(config.save_path) as folder:
        require_space(folder, sum(tensor.nbytes for _, tensor in announced))
        shutil.copytree(config.policies[-1], folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns(*_WEIGHTS))
        with SafetensorsWriter(folder, announced, int(config.max_shard_size_gb * 1e9)) as writer:
            for name, _ in announced:
                writer.write(name, mean([weights[name].read() for weights in opened], shares))
    print(f"{config.save_path}: the mean of {', '.join(map(str, config.policies))} ({len(announced)} tensors)")


def mean(tensors: Sequence[torch.Tensor], shares: Sequence[float]) -> torch.Tensor:
    """Of tensors of one shape, computed in double precision; of numbers that do not learn (integers) the last one's."""
    last = tensors[-1]
    if not last.is_floating_point():
        return last
    whole = torch.zeros_like(last, dtype=torch.double)
    for tensor, share in zip(tensors, shares, strict=True):
        whole += tensor.double() * share
    return whole.to(last.dtype)


def _check_same(folder: Path, weights: dict[str, StoredTensor], other: Path, others: dict[str, StoredTensor]) -> None:
    """`UserError` where two checkpoints have not the same tensors."""
    kinds = [read_object(each / "config.json").get("model_type") for each in (folder, other)]
    if kinds[0] != kinds[1]:
        raise UserError(f"{folder} is {kinds[0]}, {other} is {kinds[1]}: only checkpoints of one model have a mean")
    differing = sorted(
        name
        for name in {*weights, *others}
        if name not in weights or name not in others or weights[name].shape != others[name].shape
    )
    if differing:
        raise UserError(f"{folder} and {other} differ in {differing[0]}: only checkpoints of one model have a mean")


if __name__ == "__main__":
    cli.run(Config, main, description=__doc__)
