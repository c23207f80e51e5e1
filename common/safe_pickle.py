"""Unpickling that can build only what the caller names: nothing is imported, and nothing else is called."""

import collections
import io
import pickle
import pickletools
import struct
import types
import zipfile
import zlib
from collections.abc import Callable
from typing import Any

from common.errors import UserError

STORAGES = {
    "DoubleStorage": "float64", "FloatStorage": "float32", "HalfStorage": "float16", "BFloat16Storage": "bfloat16",
    "LongStorage": "int64", "IntStorage": "int32", "ShortStorage": "int16", "CharStorage": "int8",
    "ByteStorage": "uint8", "BoolStorage": "bool",
}  # fmt: skip
"""What torch.save calls the memory of each of torch's types."""
MAX_OPCODES = 20_000_000
"""Of any pickle: an opcode of one byte can make an object of hundreds."""
ZIP_DAMAGE = (zipfile.BadZipFile, OSError, EOFError, ValueError, KeyError, RuntimeError, struct.error, zlib.error)
"""What zipfile raises of a file that is damaged, in its directory or in a record."""
_PUTS = {"PUT", "BINPUT", "LONG_BINPUT"}
_MAX_BITS = 4096
"""Of a whole number: Python refuses to write down one of more than 4,300 digits, in whatever is said of it, too."""
_FREE_BYTES = 64 * 2**20
_GROWTH = 8
_BYTES_PER_ITEM = 8
_BYTES_MADE = {
    **dict.fromkeys(("EMPTY_SET", "FROZENSET", "REDUCE", "BUILD", "NEWOBJ", "NEWOBJ_EX", "OBJ", "INST"), 256),
    **dict.fromkeys(("EMPTY_DICT", "DICT", "EMPTY_LIST", "LIST", "TUPLE", "TUPLE1", "TUPLE2", "TUPLE3"), 64),
}
"""What one step of a pickle makes, at least, where that is more than it takes in the file."""
_GROWTH_OF_STEPS = 16


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


def empty_dict(*arguments: Any) -> collections.OrderedDict[Any, Any]:
    """Stands for OrderedDict, which pickles call without arguments; given a dict it would copy that each time."""
    if arguments:
        refuse("collections", "OrderedDict with content")
    return collections.OrderedDict()


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
    max_opcodes: int = MAX_OPCODES,
    num_bytes: int | None = None,
) -> Any:
    """The object in `content`. `find(module, name)` gives the callable or class that stands for a global, or refuses.

    Two bytes can refer to an object once more, so a list grows far beyond its pickle, and what is written of it even
    further: both are bounded, by `max_opcodes` and by what a walk through the object meets. `num_bytes`: of the file,
    where the pickle refers to more than itself, or was packed.

    Raises:
        UserError: a global that `find` refuses, content that is no well-formed pickle, or an object out of proportion.
    """
    try:
        check_opcodes(content, max_opcodes, num_bytes)
        found = _SafeUnpickler(content, find, load_persistent or _no_persistent).load()
        check_proportion(found, max(num_bytes or 0, len(content)))
        return found
    except UserError:
        raise
    except Exception as error:  # a pickle can be broken in any way; all of them mean the same to the user
        raise UserError(f"not a readable pickle ({type(error).__name__})") from None


def budget_for(num_bytes: int) -> int:
    """How many bytes may come of so many in a file."""
    return _FREE_BYTES + _GROWTH * num_bytes


def check_proportion(value: Any, num_bytes: int) -> None:
    """`UserError` for an object that holds far more than the bytes that it came from: whoever walks through it meets
    what it holds as often as it refers to it."""
    budget, todo = budget_for(num_bytes), [value]
    while todo:
        one = todo.pop()
        if isinstance(one, dict):
            parts: Any = [*one.keys(), *one.values()]
        elif isinstance(one, list | tuple | set | frozenset):
            parts = one
        else:
            parts = ()
            budget -= len(one) if isinstance(one, str | bytes | bytearray) else getattr(one, "nbytes", 0)
        budget -= _BYTES_PER_ITEM * (1 + len(parts))
        if budget < 0:
            raise UserError("refused: the pickle refers to the same things over and over, beyond all proportion")
        todo.extend(parts)


def _no_persistent(pid: Any) -> Any:
    raise UserError("refused: the pickle refers to objects outside it")


def check_opcodes(content: bytes, max_opcodes: int = MAX_OPCODES, num_bytes: int | None = None) -> None:
    """`UserError` for a pickle of too many steps, whose memo has holes, or of a number that nobody can write down;
    ValueError for none.

    Python allots memory for the highest memo index; one that no pickler writes could ask for all there is."""
    num_puts, budget = 0, _FREE_BYTES + _GROWTH_OF_STEPS * min(num_bytes or len(content), len(content))
    for number, (opcode, argument, _) in enumerate(pickletools.genops(content)):
        if number == max_opcodes:
            raise UserError(f"refused: the pickle has more than {max_opcodes} steps")
        budget -= _BYTES_MADE.get(opcode.name, _BYTES_PER_ITEM)
        if budget < 0:
            raise UserError("refused: the pickle makes more than its file can hold, beyond all proportion")
        if opcode.name in _PUTS:
            num_puts += 1
            if not (isinstance(argument, int) and 0 <= argument <= num_puts):
                raise UserError("not a readable pickle (its memo has holes)")
        if isinstance(argument, int) and argument.bit_length() > _MAX_BITS:
            raise UserError(f"refused: the pickle holds a number of {argument.bit_length()} bits")
