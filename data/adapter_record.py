"""What stands in `adapter.json`, beside the weights of an iteration that holds low-rank adapters."""

import dataclasses
import os
from pathlib import Path

from common.errors import UserError
from common.files import read_json, write_json
from common.options.fields import is_number

_FILE = "adapter.json"


@dataclasses.dataclass(frozen=True)
class Lora:
    """Low-rank adapters on every projection of the language model: W + alpha / rank * B A (Hu et al., 2021)."""

    rank: int
    alpha: float

    @property
    def scale(self) -> float:
        """What B A is multiplied by."""
        return self.alpha / self.rank


@dataclasses.dataclass(frozen=True)
class AdapterRecord:
    """W + alpha / rank * B A is computed in place of W."""

    rank: int
    alpha: float
    base: Path | None = None
    """The iteration that holds every W, where the adapters' own holds only what learned: them, and what was not frozen
    besides. None: they lie together."""

    @property
    def lora(self) -> Lora:
        """What a model needs to have."""
        return Lora(self.rank, self.alpha)


def read_adapter_record(weights: Path) -> AdapterRecord | None:
    """Of an iteration's folder; None where it has none. `UserError` when the file is damaged."""
    path = weights / _FILE
    if not path.exists():
        return None
    fields = read_json(path)
    rank, alpha, base = (fields.get(name) if isinstance(fields, dict) else None for name in ("rank", "alpha", "base"))
    if type(rank) is not int or rank < 1 or not is_number(alpha) or not isinstance(base, str | None):
        raise UserError(f"{path}: says rank {rank!r}, alpha {alpha!r}, base {base!r}")
    return AdapterRecord(rank, float(alpha), Path(os.path.normpath(weights.resolve() / base)) if base else None)


def write_adapter_record(record: AdapterRecord, weights: Path) -> None:
    """Into an iteration's folder; where the base lies is told from there, so that both can be moved together."""
    fields = {"rank": record.rank, "alpha": record.alpha}
    base = {"base": os.path.relpath(record.base.resolve(), weights.resolve())} if record.base else {}
    write_json(weights / _FILE, {**fields, **base})
