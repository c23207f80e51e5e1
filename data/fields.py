"""Dataclasses that are filled from files of others hold what their annotations say."""

import dataclasses
import functools
import math
import types
from collections.abc import Mapping
from typing import Any, get_args, get_origin, get_type_hints

from common.errors import UserError

_SHOWN_CHARS = 60


def check_fields(what: str, instance: Any) -> None:
    """`UserError`, which begins with `what`, unless each field of a dataclass has the type of its annotation: numbers
    are finite, `True` is no number, and a text can be written (it holds no half of a surrogate pair)."""
    for name, kind in _kinds(type(instance)).items():
        value = getattr(instance, name)
        if not _fits(value, kind):
            raise UserError(f"{what}: its {name} is {repr(value)[:_SHOWN_CHARS]}, which is no {_named(kind)}")


@functools.cache
def _kinds(owner: type) -> Mapping[str, Any]:
    hints = get_type_hints(owner)
    return {field.name: hints[field.name] for field in dataclasses.fields(owner)}


def _fits(value: Any, kind: Any) -> bool:
    origin, arguments = get_origin(kind), get_args(kind)
    if kind is Any:
        return True
    if origin is types.UnionType:
        return any(_fits(value, one) for one in arguments)
    if origin is list:
        return isinstance(value, list) and all(_fits(one, arguments[0]) for one in value)
    if origin is dict:
        key_kind, kind_of_values = arguments
        return isinstance(value, dict) and all(
            _fits(key, key_kind) and _fits(one, kind_of_values) for key, one in value.items()
        )
    if kind is float:
        return type(value) in (int, float) and math.isfinite(value)
    if kind is int:
        return type(value) is int
    if kind is str and isinstance(value, str):
        return _is_writable(value)
    return isinstance(value, kind)


def _is_writable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _named(kind: Any) -> str:
    return kind.__name__ if isinstance(kind, type) and not get_args(kind) else str(kind)
