"""Bytes that a rank really used, beside what `--dry_run` had said."""

import json
import re
from pathlib import Path

from common.files import read_lines

GIB = 2**30
_ROW = re.compile(r"(?m)^ *([\w ]+?) \(GiB[^)]*\) +([\d.]+)")


def said(log: Path) -> dict[str, float]:
    """GiB by row of the table that `--dry_run` printed into `log`."""
    return {name: float(value) for name, value in _ROW.findall(log.read_text())}


def measured(folder: Path) -> dict[str, float]:
    """GiB by the same rows, of the fullest rank in the last step; `rss` is all that its process held."""
    last = [json.loads(read_lines(path)[-1]) for path in folder.glob("rank*.jsonl")]
    rank = max(last, key=lambda line: line["peak"])
    parts = {
        "weights": rank["half"],
        "gradients": rank["live"] - rank["half"] - rank["optimizer"],
        "optimizer": rank["optimizer"],
        "activations": rank["peak"] - rank["live"],
        "total": rank["peak"],
        "rss": rank["rss"],
    }
    return {name: size / GIB for name, size in parts.items()}
