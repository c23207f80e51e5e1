"""Artifacts as Fossil writes them: https://fossil-scm.org/home/doc/trunk/www/fileformat.wiki"""

import hashlib
import zlib
from collections.abc import Mapping

Blob = tuple[str, bytes]
"""(its hash, its content)"""


def stored(content: bytes) -> Blob:
    return hashlib.sha1(content).hexdigest(), content


def compressed(content: bytes) -> bytes:
    """As the table of blobs has it."""
    return len(content).to_bytes(4, "big") + zlib.compress(content)


def expanded(content: bytes) -> bytes:
    return zlib.decompress(content[4:])


def check_in(when: str, user: str, comment: str, files: Mapping[str, str], parent: str, release: str) -> Blob:
    named = [f"F {_word(name)} {stored(text.encode())[0]}" for name, text in sorted(files.items())]
    tag = [f"T +sym-release-{release} *"] if release else []
    return _made(f"C {_word(comment)}", f"D {when}", *named, f"P {parent}", *tag, f"U {user}")


def ticket(when: str, user: str, key: str, fields: Mapping[str, str]) -> Blob:
    named = [f"J {name} {_word(value)}" for name, value in sorted(fields.items())]
    return _made(f"D {when}", *named, f"K {key}", f"U {user}")


def page(when: str, user: str, name: str, text: str) -> Blob:
    return _made(f"D {when}", f"L {_word(name)}", "N text/x-markdown", f"U {user}", f"W {len(text.encode())}\n{text}")


def _made(*cards: str) -> Blob:
    content = "".join(f"{card}\n" for card in cards).encode()
    return stored(content + f"Z {hashlib.md5(content).hexdigest()}\n".encode())


def _word(text: str) -> str:
    return text.replace("\\", "\\\\").replace(" ", "\\s").replace("\n", "\\n")
