"""Learning algorithms, one file each: `ALGORITHM=name` is `training/algorithms/<name>.py`.

A name with a dot is a module of one's own, anywhere on PYTHONPATH. Either has its class, an `Algorithm`, as ALGORITHM.
"""

import dataclasses
import importlib

from common.command_line import read
from common.errors import UserError
from common.limits import deferred
from training.algorithm_names import check_name
from training.algorithms.algorithm import Algorithm


def load(name: str, options: str = "") -> Algorithm:
    """The algorithm `name` with its own `options`: `clip_low=0.2,clip_high=0.28`.

    Raises:
        UserError: there is no such algorithm; an option is not NAME=VALUE, not one of its own, or out of its range.
    """
    check_name(name)
    path = name if "." in name else f"{__name__}.{name}"
    try:
        kind = importlib.import_module(path).ALGORITHM
    except (ImportError, AttributeError) as error:
        raise UserError(f"ALGORITHM={name}: no module that has an ALGORITHM ({error})") from None
    arguments = []
    for option in filter(None, options.split(",")):
        key, equals, value = option.partition("=")
        if not equals:
            raise UserError(f"ALGORITHM_OPTIONS={options}: {option!r} is not NAME=VALUE")
        arguments += [f"--{key}", value]
    own = ", ".join(field.name for field in dataclasses.fields(kind)) or "none"
    said = f"ALGORITHM_OPTIONS={options} of {name}"
    with deferred():
        chosen = read(kind, arguments, said, hint=f"its options: {own}")
    try:
        return dataclasses.replace(chosen)
    except UserError as error:
        raise UserError(f"{said}: {error}") from None
