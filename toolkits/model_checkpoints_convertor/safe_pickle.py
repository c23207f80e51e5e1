"""Unpickling that resolves names from a table and runs nothing else.

Checkpoints of PyTorch and Megatron carry pickles. A pickle names functions and classes to call; here every name outside
the reader's table is refused, and names that only carry what no conversion needs become an `Ignored`.
"""

import collections
import io
import pickle
import types
from collections.abc import Callable, Mapping
from typing import Any

from data.errors import UserError

Names = Mapping[tuple[str, str], Any]


class Ignored:
    """Stands for an object whose content nobody asks for; takes any arguments and any state."""

    def __new__(cls, *_: Any, **__: Any) -> "Ignored":
        return super().__new__(cls)

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def __setstate__(self, state: Any) -> None:
        pass

    def append(self, item: Any) -> None:
        """Items of a pickled list."""

    def __setitem__(self, key: Any, value: Any) -> None:
        """Items of a pickled dict."""

    def __hash__(self) -> int:
        return id(self)


PLAIN: Names = {
    ("collections", "OrderedDict"): collections.OrderedDict,
    ("argparse", "Namespace"): types.SimpleNamespace,
    ("types", "SimpleNamespace"): types.SimpleNamespace,
    ("builtins", "set"): set,
    ("__builtin__", "set"): set,
}
"""Containers; Megatron keeps its arguments in a namespace."""


def load(
    content: bytes,
    where: str,
    names: Names,
    persistent_load: Callable[[Any], Any] | None = None,
) -> Any:
    """Unpickle `content`, which came from `where`.

    Raises:
        UserError: it asks for a name that is not in `names`, or it is broken.
    """
    try:
        return _Unpickler(content, where, names, persistent_load).load()
    except UserError:
        raise
    except Exception as error:  # a pickle can be broken in any way; all of them mean the same to the user
        raise UserError(f"{where}: its pickle is broken ({type(error).__name__})") from None


class _Unpickler(pickle.Unpickler):
    def __init__(self, content: bytes, where: str, names: Names, persistent_load: Callable[[Any], Any] | None) -> None:
        super().__init__(io.BytesIO(content), encoding="utf-8")
        self._where, self._names, self._persistent_load = where, names, persistent_load

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in self._names:
            raise UserError(f"{self._where}: refused, its pickle asks for {module}.{name}, which no checkpoint needs")
        return self._names[module, name]

    def persistent_load(self, pid: Any) -> Any:
        if self._persistent_load is None:
            raise pickle.UnpicklingError("unexpected reference")
        return self._persistent_load(pid)
