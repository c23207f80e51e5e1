"""Unpickling that can build only what the caller names: nothing is imported, and nothing else is called."""

import io
import pickle
import pickletools
import types
from collections.abc import Callable
from typing import Any

from common.errors import UserError

STORAGES = {
    "DoubleStorage": "float64", "FloatStorage": "float32", "HalfStorage": "float16", "BFloat16Storage": "bfloat16",
    "LongStorage": "int64", "IntStorage": "int32", "ShortStorage": "int16", "CharStorage": "int8",
    "ByteStorage": "uint8", "BoolStorage": "bool",
}  # fmt: skip
"""What torch.save calls the memory of each of torch's types."""
_PUTS = {"PUT", "BINPUT", "LONG_BINPUT"}


class _SafeUnpickler(pickle.Unpickler):
    def __init__(self, content: bytes, find: Callable[[str, str], Any], load_persistent: Callable[[Any], Any]):
        super().__init__(io.BytesIO(content))
        self._find, self._load_persistent = find, load_persistent

    def find_class(self, module: str, name: str) -> Any:
        found = self._find(module, name)
        return _Callable(found) if isinstance(found, types.FunctionType) else found

    def persistent_load(self, pid: Any) -> Any:
        return self._load_persistent(pid)


def refuse(module: str, name: str) -> Any:
    """A `find` that allows nothing."""
    raise UserError(f"refused: the pickle asks for {module}.{name}, which is not plain data")


def refuse_state(_: Any, __: Any) -> None:
    """The `__setstate__` of what a reader makes itself, such as the place of a tensor: no pickle may change it."""
    raise UserError("refused: the pickle changes what its reader made")


class _Callable:
    """A function of a reader's table. A pickle could set attributes of the function itself, for all later files."""

    __slots__ = ("_function",)
    __setstate__ = refuse_state

    def __init__(self, function: Callable[..., Any]):
        self._function = function

    def __call__(self, *arguments: Any) -> Any:
        return self._function(*arguments)


def safe_unpickle(
    content: bytes,
    find: Callable[[str, str], Any] = refuse,
    load_persistent: Callable[[Any], Any] | None = None,
    max_opcodes: int | None = None,
) -> Any:
    """The object in `content`. `find(module, name)` gives the callable or class that stands for a global, or refuses.

    Two bytes can refer to an object once more, so a list grows far beyond its pickle; `max_opcodes` bounds that.

    Raises:
        UserError: a global that `find` refuses, or content that is no well-formed pickle.
    """
    try:
        _check_opcodes(content, max_opcodes)
        return _SafeUnpickler(content, find, load_persistent or _no_persistent).load()
    except UserError:
        raise
    except Exception as error:  # a pickle can be broken in any way; all of them mean the same to the user
        raise UserError(f"not a readable pickle ({type(error).__name__})") from None


def _no_persistent(pid: Any) -> Any:
    raise UserError("refused: the pickle refers to objects outside it")


def _check_opcodes(content: bytes, max_opcodes: int | None) -> None:
    """Python allots memory for the highest memo index; one that no pickler writes could ask for all there is."""
    num_puts = 0
    for number, (opcode, argument, _) in enumerate(pickletools.genops(content)):
        if number == max_opcodes:
            raise UserError(f"refused: the pickle has more than {max_opcodes} steps")
        if opcode.name in _PUTS:
            num_puts += 1
            if not 0 <= argument <= num_puts:
                raise UserError("not a readable pickle (its memo has holes)")
