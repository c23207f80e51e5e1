"""Numbers that look random and depend on texts alone: seeds of a run's random numbers, and draws without any."""

import hashlib


def derive_seed(seed: int, *parts: str | int | None) -> int:
    """A seed of 53 bits for what `parts` name (stage, task, try, step), so that no two of them share random numbers.

    53 bits are exact in every JSON reader, and two of a million seeds agree with a probability of 6e-5.
    """
    return _digest(seed, *parts) >> 11


def draw(*parts: str) -> float:
    """A number from 0 to below 1, always the same for the same texts."""
    return _digest(*parts) / 2**64


def _digest(*parts: str | int | None) -> int:
    """64 bits."""
    return int.from_bytes(hashlib.sha256("\0".join(map(str, parts)).encode()).digest()[:8], "big")
