"""Images as others refer to them: bytes in the record, a data URL, a path, or an address, which is never opened."""

import base64
import contextlib
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, TextIO
from urllib.parse import unquote

import xxhash

from common.errors import UserError
from common.files import write_atomic
from common.shown.terminal import in_short
from data.names import check_name
from data.shards.shard import image_type
from toolkits.readers.reading.addresses import fetched, is_address
from toolkits.readers.reading.encoded import begins_as_base64, is_data_url
from toolkits.readers.reading.pictures import as_png, begins_as_image, begins_as_other, check_picture, named_as_png
from toolkits.readers.reading.steps import find_image, text_of

_written: TextIO | None = None
"""The paths of `nothing_of_what_is_refused`, in a file: there are as many as images."""
NAMES = "image_names"
"""A field of records that hold their images as bytes, so that those which show the same picture share it again."""


def image_behind(where: str, reference: Any, folders: Sequence[Path]) -> Path | bytes:
    """The file in one of `folders`, or the image itself. `reference` is a path, a data URL, bytes, or
    {"bytes", "path"} as Hugging Face's datasets have it.

    Raises:
        UserError: there is no such image, or what is there is none.
    """
    if (content := held(where, reference)) is not None:
        return content
    reference = reference.get("path") if isinstance(reference, dict) else reference
    if not reference:
        raise UserError(f"{where}: one of its images is empty: it has neither bytes nor a path")
    if is_address(reference) and (here := fetched(reference, folders)):
        return here
    if not isinstance(reference, str) or is_address(reference):
        raise UserError(f"{where}: its image {in_short(str(reference))} is at an address, or is none; fetch it first")
    name = unquote(reference.removeprefix("file://")) if reference.startswith("file://") else reference
    path = _file(where, name, folders)
    with open(path, "rb") as file:
        is_other = begins_as_other(file.read(4), path.name)
    return as_png(where, path.read_bytes(), path.name) if is_other else path


def held(where: str, reference: Any) -> bytes | None:
    """The image that stands in the record itself: bytes, a data URL, or base64 alone; None where it stands elsewhere.

    Raises:
        UserError: a data URL is none.
    """
    named = text_of(reference.get("path")) if isinstance(reference, dict) else ""
    content = (reference.get("bytes") or reference.get("path")) if isinstance(reference, dict) else reference
    if isinstance(content, str) and is_data_url(content):
        content = _decoded(where, content)
    elif isinstance(content, str) and begins_as_base64(content):
        with contextlib.suppress(ValueError):
            decoded = _of_base64(content)
            content = decoded if begins_as_image(decoded) else content
    return as_png(where, content, named) if isinstance(content, bytes) and content else None


def _file(where: str, name: str, folders: Sequence[Path]) -> Path:
    for folder in folders[:-1]:
        with contextlib.suppress(UserError):
            return folder / find_image(where, folder, name)
    return folders[-1] / find_image(where, folders[-1], name)


def leads_elsewhere(reference: Any) -> bool:
    """A path that does not begin in the folder of the images: of what is not there it says less than one that does."""
    path = reference.get("path") if isinstance(reference, dict) else reference
    name = PurePosixPath(path.replace("\\", "/")) if isinstance(path, str) else PurePosixPath()
    return name.is_absolute() or ".." in name.parts or ":" in "".join(name.parts[:1])


def name_in(where: str, image_dir: Path, reference: Any, identifier: str, number: int, named: str = "") -> str:
    """What a sample calls its image: the path of a file in `image_dir`. An image in the record becomes a file there, by
    the name that it had (`named`, or its `path`), else `<id>.<number>.png`."""
    found = image_behind(where, reference, [image_dir])
    if isinstance(found, Path):
        check_picture(where, found)
        return str(found.relative_to(image_dir))
    if isinstance(reference, dict) and isinstance(reference.get("path"), str):
        named = named or reference["path"]
    return keep_image(where, image_dir, found, identifier, number, named_as_png(named))


def keep_image(where: str, image_dir: Path, content: bytes, identifier: str, number: int, named: str = "") -> str:
    """Write an image; returns its name. Of `named` the folders are left out, so samples share a picture by its name.
    Where another picture has the sample's name, since ids of others come again, its own says what it shows."""
    check_picture(where, content)
    name = f"{identifier}.{number}.{image_type(content)}"
    check_name(f"{where}: its image", name)
    if (image_dir / name).exists() and not _is_free(image_dir / name, content):
        name = f"{identifier}.{number}.{xxhash.xxh128_hexdigest(content)}.{image_type(content)}"
    return place_image(where, image_dir, content, name, named)


def place_image(where: str, image_dir: Path, image: bytes | Path, name: str, named: str = "") -> str:
    """As `keep_image` does with a picture that was looked at, by `name` where `named` is taken. One that is a file is
    moved, or left where it is when the same picture is there already."""
    check_name(f"{where}: its image", name)
    if own := PurePosixPath(named.replace("\\", "/")).name:
        check_name(f"{where}: its image", own)
        if _is_free(image_dir / own, image):
            return own
    write_image(where, image_dir / name, image)
    return name


def names_told(extra: dict[str, Any], num_images: int) -> list[str]:
    """What export_data.py says that the images of a record were called, taken out of it; "" where nobody says."""
    names = extra.pop(NAMES, None)
    is_whole = isinstance(names, list) and len(names) == num_images and all(isinstance(name, str) for name in names)
    return names if is_whole else [""] * num_images


def write_image(where: str, path: Path, image: bytes | Path) -> None:
    """`UserError` where another picture has that name, which samples that were read before may show."""
    if not _is_free(path, image):
        raise UserError(
            f"{where}: {path} holds another picture, of another sample with this id; give this import its own "
            "--image_dir, or files with the same ids by the folder that they are in"
        )


def _is_free(path: Path, image: bytes | Path) -> bool:
    """Written there, or there already."""
    if path.exists():
        content = image.read_bytes() if isinstance(image, Path) else image
        return path.is_file() and path.stat().st_size == len(content) and path.read_bytes() == content
    if isinstance(image, Path):
        image.rename(path)
    else:
        write_atomic(path, image, flush=False)
    if _written is not None:
        _written.write(f"{path}\0")
    return True


@contextlib.contextmanager
def nothing_of_what_is_refused() -> Iterator[None]:
    """Images that are written within the block are removed where it ends with a `UserError`."""
    global _written
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="surrogateescape", newline="") as paths:
        _written = paths
        try:
            yield
        except UserError:
            paths.seek(0)
            for path in filter(None, paths.read().split("\0")):
                Path(path).unlink(missing_ok=True)
            raise
        finally:
            _written = None


def _decoded(where: str, url: str) -> bytes:
    head, _, encoded = url.partition(",")
    try:
        if not head.rstrip().lower().endswith(";base64"):
            raise ValueError
        return _of_base64(unquote(encoded))
    except ValueError:
        raise UserError(f"{where}: its image's data URL is no base64") from None


def _of_base64(encoded: str) -> bytes:
    """Also in lines, or without what fills the last group."""
    plain = "".join(encoded.split()).rstrip("=")
    return base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
