"""Real booleans with the published spelling: `true` and `false`, as launch scripts' variables and flags have it."""

import types
from typing import Annotated, Any, get_args, get_origin

import tyro
from tyro.constructors import PrimitiveConstructorSpec

_MEANING = {"auto": None, "true": True, "false": False}


def spelled(value: object) -> str:
    """As a variable or a flag says it: `true`, `false`, `auto` for None; other values as they print."""
    return next((word for word, meaning in _MEANING.items() if value is meaning), str(value))


def is_switch(kind: Any) -> bool:
    """Whether an annotation is one of those below."""
    if get_origin(kind) is not Annotated:
        return False
    base = get_args(kind)[0]
    return base is bool or (get_origin(base) is types.UnionType and bool in get_args(base))


def _spec(*words: str) -> PrimitiveConstructorSpec[bool | None]:
    return PrimitiveConstructorSpec(
        nargs=1,
        metavar=f"{{{','.join(words)}}}",
        instance_from_str=lambda given: _MEANING[given[0]],
        is_instance=lambda value: any(value is _MEANING[word] for word in words),
        str_from_instance=lambda value: [spelled(value)],
        choices=words,
    )


Switch = Annotated[bool, tyro.conf.FlagConversionOff, _spec("true", "false")]
"""`--sp true`, `SP=true`."""

AutoSwitch = Annotated[bool | None, _spec("auto", "true", "false")]
"""None, spelled `auto`, leaves it to the program."""
