"""Which fields of a record hold its images, in whichever of the trainers' and publishers' names."""

import re
from collections.abc import Mapping
from typing import Any

from toolkits.readers.reading.encoded import begins_as_base64

FIELDS = (
    *("images", "image", "image_path", "image_paths", "image_file", "image_files", "image_filename", "image_name"),
    *("image_url", "image_urls", "img", "imgs", "img_path", "img_paths", "img_file", "img_filename", "img_url"),
    *("screenshot", "screenshots", "screenshot_path", "picture", "pictures", "photo", "file_name"),
)
"""Of several the first that says something counts."""
SURE = FIELDS[:2]
"""Whatever stands in these is meant as images."""
_PLACES = ("url", "image_url", "image")
_NAMES_ONE = re.compile(r"[^\n]{1,4000}\.(png|jpe?g|webp|bmp|gif|tiff?)(\?[^\n]*)?|data:image/.*", re.I | re.S)


def find_images(entry: Mapping[str, Any]) -> tuple[str, list[Any]]:
    """(the field, what it refers to); "" and none where there is no such field."""
    there = (n for n in FIELDS if n in entry and listed(entry[n]))
    found = next((n for n in there if n in SURE or looks_like_images(entry[n])), "")
    return found, listed(entry.get(found))


def listed(value: Any) -> list[Any]:
    """The images that stand in a field; None and "" are none."""
    images = map(_named, value if isinstance(value, list | tuple) else [value])
    return [one for one in images if one is not None and one != ""]


def _named(image: Any) -> Any:
    """What an object such as {"url": ...} names; one that holds its image, or has its path, as it is."""
    if not isinstance(image, dict) or {"bytes", "path"} & image.keys():
        return image
    return next((image[name] for name in _PLACES if isinstance(image.get(name), str)), image)


def looks_like_images(value: Any) -> bool:
    """A name of an image file, a data URL, or what `is_held` is true of; or a list of such."""
    return all(map(_looks_like_one, value)) and bool(value) if isinstance(value, list) else _looks_like_one(value)


def _looks_like_one(value: Any) -> bool:
    return _is_held(value) or (
        isinstance(value, str) and (_NAMES_ONE.fullmatch(value) is not None or begins_as_base64(value))
    )


def is_held(value: Any) -> bool:
    """An image in the record as `datasets` stores one, or a list of them; or the bytes alone."""
    return all(map(_is_held, value)) and bool(value) if isinstance(value, list) else _is_held(value)


def _is_held(value: Any) -> bool:
    return isinstance(value, bytes) or (isinstance(value, dict) and {"bytes", "path"} >= value.keys() and bool(value))
