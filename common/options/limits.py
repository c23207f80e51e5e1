"""Limits beside the fields that they limit: `max_iter: Annotated[int, at_least(1)] = 5`, checked when a value is made.

Rooms declare their options once, as frozen dataclasses below `Checked`; command lines and recipes are refused alike.
"""

import contextlib
import contextvars
import dataclasses
import types
from collections.abc import Callable, Iterator
from typing import Annotated, Any, ClassVar, Literal, Union, get_args, get_origin

from common.errors import UserError
from common.options.fields import fits, kinds_of

_deferred = contextvars.ContextVar("_deferred", default=False)


@dataclasses.dataclass(frozen=True)
class Limit:
    """What a value must be, in words and as a test."""

    says: str
    allows: Callable[[Any], bool]


def at_least(lowest: float) -> Limit:
    return Limit(f"at least {lowest}", lambda value: value >= lowest)


def above(lowest: float) -> Limit:
    return Limit(f"above {lowest}", lambda value: value > lowest)


def between(lowest: float, highest: float) -> Limit:
    """Both of them allowed."""
    return Limit(f"{lowest} to {highest}", lambda value: lowest <= value <= highest)


Port = Annotated[int, between(0, 65535)]
"""0 picks a free one."""


class LimitError(UserError):
    """A value that its field, `name`, does not allow."""

    def __init__(self, name: str, message: str):
        super().__init__(message)
        self.name = name


class Checked:
    """Base of dataclasses whose values are refused, when they are made, with one line of which field allows what."""

    spelled: ClassVar[Callable[[str], str]] = "--{}".format
    """How users write a field's name."""

    def __post_init__(self) -> None:
        if not _deferred.get():
            check_limits(self, type(self).spelled)
            self.check_together()

    def check_together(self) -> None:
        """Raise `UserError` for fields that do not go together; subclasses call their bases'."""


def check_limits(instance: Any, spelled: Callable[[str], str]) -> None:
    """`LimitError` for the first field of a dataclass that holds what its annotation does not allow."""
    for name, kind in kinds_of(type(instance)).items():
        value = getattr(instance, name)
        if not fits(value, kind):
            raise LimitError(name, f"{spelled(name)} must be {_described(kind)}, not {value!r}")
        for limit in _limits(kind, value):
            if not limit.allows(value):
                raise LimitError(name, f"{spelled(name)} must be {limit.says}, not {value}")


@contextlib.contextmanager
def deferred() -> Iterator[None]:
    """Nothing is checked in this block: a parser of command lines has lines of its own for an error that it meets."""
    token = _deferred.set(True)
    try:
        yield
    finally:
        _deferred.reset(token)


def _limits(kind: Any, value: Any) -> Iterator[Limit]:
    """Those of the member of a union that the value is of."""
    if get_origin(kind) in (types.UnionType, Union):
        kind = next(one for one in get_args(kind) if fits(value, one))
    if get_origin(kind) is Annotated:
        yield from (one for one in kind.__metadata__ if isinstance(one, Limit))


def _described(kind: Any) -> str:
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _described(arguments[0])
    if origin in (types.UnionType, Union):
        return " or ".join(_described(one) for one in arguments)
    if origin is Literal:
        return f"one of {', '.join(map(repr, arguments))}"
    if origin is tuple:
        return f"a tuple of {_described(arguments[0])}"
    words = {types.NoneType: "None", bool: "True or False", float: "a finite number"}
    return words.get(kind) or kind.__name__
