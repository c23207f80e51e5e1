"""Names that come from files of others and become names of files here."""

import re

from common.errors import UserError

MAX_NAME_BYTES = 200  # file systems take 255; suffixes such as `--run3--r02--step15.png` need the rest
_NOT_PLAIN = re.compile(r"[/\\\x00-\x1f\x7f]")


def check_name(what: str, name: object) -> None:
    """`UserError` unless `name` can stand in a file's name: text without slashes and control characters, not hidden
    (`..` is), of at most `MAX_NAME_BYTES` in UTF-8. `what` says in the message whose name it is."""
    if not isinstance(name, str) or not name or name[0] == "." or _NOT_PLAIN.search(name):
        raise UserError(f"{what} {name!r} is not a plain name: no slash, no control character, no dot at its start")
    try:
        length = len(name.encode())
    except UnicodeEncodeError:
        raise UserError(f"{what} {name!r} is not text that a file's name can hold") from None
    if length > MAX_NAME_BYTES:
        raise UserError(f"{what} {name[:40]!r}... has {length} bytes; it names files, so at most {MAX_NAME_BYTES}")
