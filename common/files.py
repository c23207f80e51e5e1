"""Files: written so that a crash leaves the old one or the new one, never half of one; read; digested."""

import contextlib
import fcntl
import hashlib
import io
import json
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import xxhash

from common.errors import UserError


def write_atomic(path: Path, content: str | bytes, flush: bool = True) -> None:
    """Write beside `path`, flush to disk, rename over it.

    Without `flush` that holds against kills only; after a power cut the file may be empty. It is for what is made from
    other files and can be made again: flushing waits for the disk.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")  # no other thread's, nobody's link
    try:
        with open(temporary, "xb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            if flush:
                file.flush()
                os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError):
            error.filename = str(path)  # a write that fails names none
        raise


def write_json(path: Path, value: Any, indent: int | None = 2, flush: bool = True) -> None:
    """`write_atomic` of `value` as JSON."""
    write_atomic(path, json.dumps(value, indent=indent, ensure_ascii=False) + "\n", flush)


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Alone, of all processes that ask so, with a file that is read, changed and written; `.<name>.lock` beside it is
    the lock."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path.with_name(f".{path.name}.lock"), "a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def parse_json(text: str | bytes) -> Any:
    """`json.loads` that raises nothing but ValueError: also for what is nested too deeply."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def read_json(path: Path) -> Any:
    """Parse a JSON file in any encoding of `decode_text`; `UserError` says which file and where it breaks."""
    try:
        return parse_json(decode_text(Path(path).read_bytes()))
    except FileNotFoundError:
        raise UserError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise UserError(f"{path}: a folder, not a JSON file") from None
    except ValueError as error:
        raise UserError(f"{path}: not valid JSON ({error})") from None


def read_object(path: Path) -> dict[str, Any]:
    """`read_json` of a file that holds an object."""
    found = read_json(path)
    if not isinstance(found, dict):
        raise UserError(f"{path}: not a JSON object, but {type(found).__name__}")
    return found


def make_folder(path: Path, what: str) -> None:
    """With its parents; `UserError`, which says by `what` who asked for it, where that cannot be."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{what} {path} cannot be made ({error.strerror}); give a folder that can be written") from None


def user_cache() -> Path:
    """This user's folder for what can be made again; it need not be there."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "elcano"


def link_tree(source: Path, target: Path) -> None:
    """All files of a folder in another one, in place of what is there: hard links, or copies on another file system."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target, copy_function=_link_or_copy)


def _link_or_copy(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def decode_text(content: bytes) -> str:
    """A text file's content: UTF-8, UTF-16 or UTF-32, with a byte order mark or, where it begins as JSON does, without.

    Raises:
        UnicodeDecodeError: it is none of these.
    """
    return content.decode(json.detect_encoding(content)).removeprefix("\ufeff")


def read_lines(path: Path) -> list[str]:
    """The lines of a text file (`decode_text`), however they end. `str.splitlines` would also cut inside JSON strings,
    at U+2028 and its like. `UserError` where it is no text file."""
    try:
        text = decode_text(Path(path).read_bytes())
    except UnicodeDecodeError:
        raise UserError(f"{path}: not a text file; give JSON or JSON lines, in UTF-8 or UTF-16") from None
    return [line.rstrip("\n") for line in io.StringIO(text, newline=None)]


def read_records(path: Path) -> list[tuple[str, Any]]:
    """(where it stands, its value) of each record of a file: JSON lines, a list of records, or a single one.

    Raises:
        UserError: no such file, no text, or a record that is no JSON.
    """
    try:
        lines = [(number, line) for number, line in enumerate(read_lines(path), start=1) if line.strip()]
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}") from None
    try:
        whole = parse_json("\n".join(line for _, line in lines))
    except ValueError as error:
        if lines and lines[0][1].lstrip().startswith("["):
            raise UserError(f"{path}: not valid JSON ({error})") from None
        return [(f"{path}:{number}", parse_line(line, f"{path}:{number}")) for number, line in lines]
    if not isinstance(whole, list):
        return [(f"{path}:{lines[0][0]}", whole)]
    return [(f"{path}: record {number}", value) for number, value in enumerate(whole, start=1)]


def parse_line(line: str, where: str) -> Any:
    """The JSON of a line; `UserError` that names `where`."""
    try:
        return parse_json(line)
    except ValueError as error:
        raise UserError(f"{where}: not valid JSON ({error})") from None


def file_digest(path: Path, kind: str = "xxh128") -> str:
    """Of a file's content, in hexadecimal digits; `kind` is xxh128 or a name that hashlib knows."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, xxhash.xxh128 if kind == "xxh128" else kind).hexdigest()
