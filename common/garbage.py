"""Python's search for garbage, kept off what stays as long as the process: modules.

Torch, transformers and Megatron make some 800,000 objects that know each other. While they are imported all of them are
searched seven times over, a fifth of the time that takes, and once more as the process ends, which takes a second.
"""

import atexit
import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def unsearched() -> Iterator[None]:
    """Nothing is searched while the block runs, and what is there at its end never will be, whatever made it: for
    imports at a process's begin, before there is anything that should go again, such as weights."""
    was_searching = gc.isenabled()  # not within another such block, which has its own end
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if was_searching:
            gc.enable()


def unsearched_at_end() -> None:
    """This process ends without a search; no object of it may need one to be closed."""
    atexit.register(gc.freeze)
