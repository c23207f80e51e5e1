"""Which clients may connect: adb's public keys, and whether a client holds the private half of one.

A client signs 20 random bytes as if they were a SHA-1 hash (RSASSA-PKCS1-v1_5). A public key is a line of base64, as in
`~/.android/adbkey.pub`.
"""

import base64
import struct
from dataclasses import dataclass
from pathlib import Path

from common.errors import UserError

TOKEN_SIZE = 20
_WORDS = 64  # of 32 bits: RSA with 2048
_LENGTH = 4 * _WORDS
_SHA1 = bytes.fromhex("3021300906052b0e03021a05000414")  # how PKCS #1 says that a SHA-1 hash follows


@dataclass(frozen=True)
class PublicKey:
    """Of one client."""

    modulus: int
    exponent: int

    def verifies(self, token: bytes, signature: bytes) -> bool:
        """Whether the private half signed this token."""
        if len(signature) != _LENGTH or len(token) != TOKEN_SIZE:
            return False
        found = pow(int.from_bytes(signature, "big"), self.exponent, self.modulus).to_bytes(_LENGTH, "big")
        ending = b"\0" + _SHA1 + token
        return found == b"\0\1" + b"\xff" * (_LENGTH - len(ending) - 2) + ending


def read_keys(path: Path) -> tuple[PublicKey, ...]:
    """Those of a file, one a line.

    Raises:
        UserError: there is no such file, no key in it, or a line that is none.
    """
    try:
        lines = [line for line in path.read_text("ascii").splitlines() if line.strip()]
        keys = tuple(map(_read_key, lines))
    except (OSError, ValueError, struct.error) as error:
        raise UserError(f"{path}: no public keys of adb ({error}); give a file such as ~/.android/adbkey.pub") from None
    if not keys:
        raise UserError(f"{path}: holds no key; adb keygen FILE makes a pair")
    return keys


def _read_key(line: str) -> PublicKey:
    """adb's own layout: number of words, -1/n mod 2**32, n and 2**4096 mod n with the lowest byte first, exponent."""
    raw = base64.b64decode(line.split()[0], validate=True)
    if len(raw) != 12 + 2 * _LENGTH or int.from_bytes(raw[:4], "little") != _WORDS:
        raise ValueError(f"{len(raw)} bytes are no key with 2048 bits")
    return PublicKey(int.from_bytes(raw[8 : 8 + _LENGTH], "little"), int.from_bytes(raw[-4:], "little"))
