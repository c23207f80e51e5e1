"""config.json of written weights, in line with them."""

from pathlib import Path
from typing import Any

import torch

from common.files import read_object, write_json
from models.family import Family


def record_precision(folder: Path, family: Family, config: Any, dtype: torch.dtype) -> None:
    """Make the copied config.json in `folder` say `dtype`, and what else the family says of weights."""
    path = folder / "config.json"
    fields: dict[str, Any] = read_object(path)
    precision = str(dtype).removeprefix("torch.")
    fields["dtype"] = precision
    if "torch_dtype" in fields:  # read by transformers before 4.56
        fields["torch_dtype"] = precision
    for part, values in family.written_fields(config).items():
        fields.setdefault(part, {}).update(values)
    write_json(path, fields)
