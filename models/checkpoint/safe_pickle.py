"""Which names a checkpoint's pickle may ask for; `common/safe_pickle.py` unpickles.

Checkpoints of PyTorch and Megatron carry pickles. A pickle names functions and classes to call; here every name outside
the reader's table is refused, and names that only carry what no conversion needs become an `Ignored`.
"""

from collections.abc import Callable, Mapping
from typing import Any

from common.errors import UserError
from common.safe_pickle import empty_dict, safe_unpickle

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


class Namespace:
    """Takes its state as it is: to copy it as often as a pickle asks could fill the memory."""

    def __setstate__(self, state: Any) -> None:
        if not isinstance(state, dict) or not all(isinstance(name, str) for name in state):
            raise UserError("refused, a namespace of its pickle holds no names")
        self.__dict__ = state


def _small_set(*arguments: Any) -> set[Any]:
    if arguments and len(arguments[0]) > _MAX_SET:
        raise UserError(f"refused, a set of its pickle has more than {_MAX_SET} members")
    return set(*arguments)


_MAX_SET = 100

PLAIN: Names = {
    ("collections", "OrderedDict"): empty_dict,
    ("argparse", "Namespace"): Namespace,
    ("types", "SimpleNamespace"): Namespace,
    ("builtins", "set"): _small_set,
    ("__builtin__", "set"): _small_set,
}
"""Containers; Megatron keeps its arguments in a namespace."""


def load(content: bytes, names: Names, persistent_load: Callable[[Any], Any] | None = None) -> Any:
    """Unpickle `content`.

    Raises:
        UserError: it asks for a name that is not in `names`, or it is broken; the caller names the file.
    """

    def find(module: str, name: str) -> Any:
        if (module, name) not in names:
            raise UserError(f"refused, its pickle asks for {module}.{name}, which no checkpoint needs")
        return names[module, name]

    return safe_unpickle(content, find, persistent_load)
