"""Images that a set names by an address: kept as references, for whoever may fetch them. Nothing is fetched here.

`addresses.tsv` in the folder of images has a line for each: its name there, a tab, the address. Once the file of that
name is there, the next import takes it for the image.
"""

import re
import sys
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Any, TypeGuard
from urllib.parse import urlsplit

import xxhash

from common.files import write_atomic
from common.shown.terminal import printable
from toolkits.readers.reading.left_out import LeftOut

FILE = "addresses.tsv"
_ADDRESS = re.compile(r"(?!file:)[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_PLAIN = re.compile(r"[!-~]{1,4000}")  # in one line, and no option of whatever fetches it
_ENDINGS = (".png", ".jpg", ".jpeg", ".webp")


def is_address(reference: Any) -> TypeGuard[str]:
    """Of the net, or of someone's bucket: what this machine does not have."""
    return isinstance(reference, str) and _ADDRESS.match(reference) is not None


def fetched(address: str, folders: Sequence[Path]) -> Path | None:
    """The file in one of `folders` that was fetched from there."""
    name = _name(address)
    return next((folder / name for folder in folders if (folder / name).is_file()), None)


def keep_addresses(image_dir: Path, left_out: LeftOut) -> None:
    """The list in `image_dir`, with what stands there already and was not fetched yet. Names are made anew, since the
    folder may be someone else's."""
    file = image_dir / FILE
    told = file.read_text(encoding="utf-8", errors="replace").splitlines() if file.is_file() else []
    known = {line.partition("\t")[2] for line in told} | left_out.addresses
    named = {_name(address): address for address in sorted(known) if is_address(address) and _PLAIN.fullmatch(address)}
    lines = [f"{name}\t{address}" for name, address in named.items() if not (image_dir / name).is_file()]
    if lines != told:
        image_dir.mkdir(parents=True, exist_ok=True)
        write_atomic(file, "".join(f"{line}\n" for line in lines).encode())
    if left_out.addresses:
        print(printable(f"{file}: {len(lines)} images to fetch, by name and address"), file=sys.stderr)


def _name(address: str) -> str:
    try:
        ending = PurePosixPath(urlsplit(address).path).suffix.lower()
    except ValueError:
        ending = ""
    return xxhash.xxh128_hexdigest(address.encode(errors="replace")) + (ending if ending in _ENDINGS else ".png")
