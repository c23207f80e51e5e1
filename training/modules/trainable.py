"""Which parts of a model learn."""

import dataclasses
from pathlib import Path

from common.errors import UserError
from data.adapter_record import Lora, read_adapter_record


@dataclasses.dataclass(frozen=True)
class Trainable:
    """What is not frozen. With `lora`, only the adapters of the language model learn, whatever `language` says.

    `value_heads`: the names of the heads that a critic has, which always learn.
    """

    vision: bool = True
    connector: bool = True
    language: bool = True
    lora: Lora | None = None
    value_heads: tuple[str, ...] = ()


EVERYTHING = Trainable()


def check_adapters(weights: Path, lora: Lora | None) -> None:
    """`UserError` when an iteration holds adapters that a model with `lora` cannot take."""
    record = read_adapter_record(weights)
    if record and record.lora != lora:
        raise UserError(
            f"{weights}: holds adapters; train on with LORA_RANK={record.rank} LORA_ALPHA={record.alpha:g}, or merge "
            "them with mg2hf.sh and convert the result with hf2mg.sh"
        )
