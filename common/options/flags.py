"""A value of a command's options as the words that give it: what `common.cli.parse` reads, written."""

import dataclasses
from typing import TYPE_CHECKING, Any, TypeVar

from common.options.fields import kinds_of
from common.options.switch import is_switch, spelled

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Owner = TypeVar("Owner", bound="DataclassInstance")


def changed(config: Any) -> dict[str, Any]:
    """The fields of a dataclass that are not as its defaults have them, by name."""
    plain = type(config)()
    names = [field.name for field in dataclasses.fields(config)]
    return {name: getattr(config, name) for name in names if getattr(config, name) != getattr(plain, name)}


def flags(config: Any) -> list[str]:
    """The flags that differ from their defaults."""
    kinds = kinds_of(type(config))
    return [word for name, value in changed(config).items() for word in _flag(name, value, kinds[name])]


def variables(config: Any, every: bool = False) -> dict[str, str]:
    """As environment variables, in capitals. Unless it is `every` one, those at their defaults are empty, which counts
    as unset: what the user's shell exports under their names must not get in."""
    said = vars(config) if every else dict.fromkeys(vars(config), "") | changed(config)
    return {name.upper(): spelled(value) for name, value in said.items()}


def narrowed(kind: type[Owner], config: Any, **own: Any) -> Owner:
    """A value of a dataclass with what `config` has of its fields, and `own`."""
    names = {field.name for field in dataclasses.fields(kind)}
    return kind(**{**{name: value for name, value in vars(config).items() if name in names}, **own})


def _flag(name: str, value: Any, kind: Any) -> list[str]:
    if kind is bool:
        return [f"--{name}" if value else f"--no_{name}"]
    if isinstance(value, tuple):
        return [f"--{name}", *map(str, value)]
    word = spelled(value) if is_switch(kind) else str(value)
    return [f"--{name}={word}"] if word.startswith("-") else [f"--{name}", word]
