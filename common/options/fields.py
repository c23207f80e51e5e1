"""Dataclasses whose fields hold what their annotations say: filled from files of others, from flags, or in recipes."""

import dataclasses
import functools
import math
import types
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeGuard, Union, get_args, get_origin, get_type_hints

from common.errors import UserError

_SHOWN_CHARS = 60


def check_fields(what: str, instance: Any) -> None:
    """`UserError`, which begins with `what`, unless each field of a dataclass has the type of its annotation: numbers
    are finite, `True` is no number, and a text can be written (it holds no half of a surrogate pair)."""
    for name, kind in kinds_of(type(instance)).items():
        value = getattr(instance, name)
        if not fits(value, kind):
            raise UserError(f"{what}: its {name} is {repr(value)[:_SHOWN_CHARS]}, which is no {_named(kind)}")


@functools.cache
def kinds_of(owner: type) -> Mapping[str, Any]:
    """The annotation of each field, with what is `Annotated`."""
    hints = get_type_hints(owner, include_extras=True)
    return {field.name: hints[field.name] for field in dataclasses.fields(owner)}


def fits(value: Any, kind: Any) -> bool:
    """Whether a value has the type that an annotation says."""
    origin, arguments = get_origin(kind), get_args(kind)
    if kind is Any:
        return True
    if origin is Annotated:
        return fits(value, arguments[0])
    if origin in (types.UnionType, Union):
        return any(fits(value, one) for one in arguments)
    if origin is Literal:
        return any(type(value) is type(one) and value == one for one in arguments)
    if origin is tuple:
        kinds = arguments[:1] * len(value) if arguments[-1] is ... and isinstance(value, tuple) else arguments
        return isinstance(value, tuple) and len(value) == len(kinds) and all(map(fits, value, kinds))
    if origin is list:
        return isinstance(value, list) and all(fits(one, arguments[0]) for one in value)
    if origin is dict:
        key_kind, kind_of_values = arguments
        return isinstance(value, dict) and all(
            fits(key, key_kind) and fits(one, kind_of_values) for key, one in value.items()
        )
    if kind is float:
        return is_number(value)
    if kind is int:
        return type(value) is int
    if kind is str and isinstance(value, str):
        return _is_writable(value)
    return isinstance(value, kind)


def is_number(value: Any) -> TypeGuard[float]:
    """Finite, and no bool."""
    try:
        return type(value) in (int, float) and math.isfinite(value)
    except OverflowError:  # a whole number of more digits than a float takes
        return False


def _is_writable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _named(kind: Any) -> str:
    return kind.__name__ if isinstance(kind, type) and not get_args(kind) else str(kind)
