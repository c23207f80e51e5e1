"""The columns of samples, from wherever they are, for the algorithm that reads them."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from common.errors import UserError
from common.files import file_digest
from data.shards.columns import ColumnFiles, changed_options
from training.algorithms.algorithm import Algorithm, Number

BEHAVIOR = "behavior_logprobs"
"""In what a dataclass says of itself."""


@dataclasses.dataclass(frozen=True)
class SampleColumns:
    """Of one sample: a number by name; [t] by name, of its t predicted tokens in order."""

    per_sample: dict[str, float] = dataclasses.field(default_factory=dict)
    per_token: dict[str, torch.Tensor] = dataclasses.field(default_factory=dict)


class ColumnJoin:
    """Finds what `algorithm` needs of each sample: in files of columns, else in what the sample carries itself."""

    def __init__(self, algorithm: Algorithm, paths: Sequence[Path] = ()) -> None:
        """`UserError` for files that are none, or a column of tokens that no file has."""
        self.needs, self._algorithm = algorithm.needs, algorithm
        self._makes_its_own = type(algorithm).columns is not Algorithm.columns
        self.files = ColumnFiles(paths, self.needs.per_sample, self.needs.per_token)
        for name in self.needs.per_token:
            if name not in self.files and name != BEHAVIOR:
                given = ", ".join(map(str, paths)) or "not set"
                raise UserError(f"the algorithm needs column {name}; no file of COLUMN_FILES ({given}) has it")

    @property
    def signature(self) -> str:
        """Changes when what it finds may."""
        return f"{type(self._algorithm).__name__}: {self._algorithm} {[file_digest(path) for path in self.files.paths]}"

    @property
    def reads_drawn(self) -> bool:
        """Whether the algorithm compares with what was drawn: then training computes at the temperature of that."""
        return BEHAVIOR in self.needs.per_token

    @property
    def reads_behavior(self) -> bool:
        """Whether log-probabilities of sampled tokens are taken from the samples."""
        return BEHAVIOR in self.needs.per_token and BEHAVIOR not in self.files

    def numbers(self, sample_id: str, fields: Mapping[str, Any]) -> dict[str, float]:
        """Per-sample columns; `fields` is the sample's json member.

        Raises:
            UserError: one is missing, or no finite number, or less than the algorithm takes.
        """
        return {name: self._number(name, number, sample_id, fields) for name, number in self.needs.per_sample.items()}

    def check(self, sample_id: str, fields: Mapping[str, Any]) -> None:
        """What can be known without tokenizing: `UserError` where `of` would raise one, but for lengths, and where a
        file was made for another sample of this id."""
        self.files.check(sample_id, fields)
        self.numbers(sample_id, fields)
        for name in self.needs.per_token:
            if name in self.files:
                self.files.of_tokens(name, sample_id)
            elif not fields.get("logprobs"):
                raise UserError(f"sample {sample_id}: the algorithm needs {name}, and nothing says them")

    def check_maker(self, algorithm: str) -> None:
        """`UserError` where make_columns.sh made a file for another algorithm than the one of this name, or with other
        options of it: two may call different things `advantage`. One that makes no columns, such as weighted_sft, takes
        anybody's."""
        for name in self.needs.per_sample:
            if self._makes_its_own and name in self.files:
                made = self.files.made_of(name).get("algorithm")
                maker = made.partition(": ")[0] if isinstance(made, str) else ""
                if maker not in ("", algorithm):
                    raise UserError(
                        f"column {name} of COLUMN_FILES was made for ALGORITHM={maker}, not for {algorithm}; "
                        f"make it with make_columns.sh --algorithm {algorithm}"
                    )
                now = f"{maker}: {self._algorithm}"
                if maker and (changed := changed_options(made, now)):
                    told = ", ".join(changed)
                    raise UserError(
                        f"column {name} of COLUMN_FILES was made with {told}; give make_columns.sh the same "
                        "ALGORITHM_OPTIONS as the training"
                    )

    def check_policy(self, digest: str, image_num: int) -> None:
        """`UserError` where a file's log-probabilities are of another policy than the one that training starts from, or
        of prompts with another number of images, or where it was made of another policy's critic or perplexities."""
        for name in self.needs.per_token:
            made = self.files.made_of(name) if name in self.files else {}
            if made.get("policy", digest) != digest:
                raise UserError(
                    f"column {name} was made with another policy than PRETRAIN_CHECKPOINT_PATH; give score.sh that one"
                )
            if made.get("image_num", image_num) != image_num:
                raise UserError(
                    f"column {name} was made with IMAGE_NUM={made['image_num']}, not {image_num}; give score.sh the "
                    "IMAGE_NUM of the training"
                )
        for name in self.needs.per_sample:
            if name in self.files and self.files.made_of(name).get("critic_of", digest) != digest:
                raise UserError(
                    f"column {name} was made with the critic, or the perplexities, of another policy than "
                    "PRETRAIN_CHECKPOINT_PATH; make those from that one"
                )

    def of(
        self, sample_id: str, fields: Mapping[str, Any], loss_mask: torch.Tensor, behavior_logprobs: torch.Tensor | None
    ) -> SampleColumns:
        """All columns of a sample; `loss_mask` and `behavior_logprobs` [s] as in `Tokens`.

        Raises:
            UserError: as `numbers`; a list is not as long as there are predicted tokens, or has no number for each.
        """
        numbers = self.numbers(sample_id, fields)
        predicted = loss_mask[1:]
        lists = {}
        for name in self.needs.per_token:
            if name in self.files:
                lists[name] = torch.from_numpy(self.files.of_tokens(name, sample_id))
            else:
                lists[name] = predicted[:0].float() if behavior_logprobs is None else behavior_logprobs[1:][predicted]
            known = int(lists[name].isfinite().sum())
            if not known == len(lists[name]) == int(predicted.sum()):
                raise UserError(f"sample {sample_id}: {known} {name} for {int(predicted.sum())} predicted tokens")
        return SampleColumns(numbers, lists)

    def _number(self, name: str, wanted: Number, sample_id: str, fields: Mapping[str, Any]) -> float:
        if name in self.files:
            number = self.files.of_sample(name, sample_id)
        elif name in fields:
            number = _finite(name, sample_id, fields[name])
        elif wanted.default is not None:
            number = wanted.default
        else:
            raise UserError(f"sample {sample_id}: has no {name}, and no file of COLUMN_FILES has it")
        if number < wanted.at_least:
            raise UserError(f"sample {sample_id}: {name} is {number:g}, less than {wanted.at_least:g}")
        return number


def _finite(name: str, sample_id: str, value: object) -> float:
    try:
        number = float(value) if isinstance(value, int | float) else math.nan
    except OverflowError:  # JSON's whole numbers have no limit
        number = math.inf
    if not math.isfinite(number):
        raise UserError(f"sample {sample_id}: {name} is {value!r:.40}, not a finite number")
    return number
