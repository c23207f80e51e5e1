"""Writing files so that a crash at any instant leaves the old file or the new one, never half of one."""

import json
import os
from pathlib import Path
from typing import Any

from data.errors import UserError


def write_atomic(path: Path, content: str | bytes) -> None:
    """Write beside `path`, flush to disk, rename over it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with open(temporary, "wb") as file:
        file.write(content.encode() if isinstance(content, str) else content)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def write_json(path: Path, value: Any, indent: int | None = 2) -> None:
    """`write_atomic` of `value` as JSON."""
    write_atomic(path, json.dumps(value, indent=indent, ensure_ascii=False) + "\n")


def read_json(path: Path) -> Any:
    """Parse a JSON file; `UserError` says which file and where it breaks."""
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise UserError(f"{path}: a folder, not a JSON file") from None
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}: not valid JSON ({error})") from None
