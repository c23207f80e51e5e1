"""Keys given as flags, kept for the published command lines, and out of everybody's sight."""

import os
import sys

ENDPOINT_KEY = "ENDPOINT_API_KEY"  # for the endpoint that --api_base names, and no other
_FLAGS = ("--api_key", "--api-key")


def hide_keys(variable: str = ENDPOINT_KEY) -> None:
    """Start this program anew with the key in the environment's `variable` instead of on its command line, which `ps`
    shows to all.

    Call first thing in `__main__`. Returns when there is no key on the command line.
    """
    kept, key = split_key(sys.orig_argv)
    if key:
        os.execve(sys.executable, [sys.executable, *kept[1:]], {**os.environ, variable: key})


def split_key(words: list[str]) -> tuple[list[str], str]:
    """(the command line without the key, the key)."""
    kept, key = [], ""
    left = iter(words)
    for word in left:
        flag, equals, value = word.partition("=")
        if flag in _FLAGS:
            key = value if equals else next(left, "")
        else:
            kept.append(word)
    return kept, key
