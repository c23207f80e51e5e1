"""Learning algorithms, one file each: `ALGORITHM=name` is `training/algorithms/<name>.py`.

A name with a dot is a module of one's own, anywhere on PYTHONPATH. Either has its class, an `Algorithm`, as ALGORITHM.
"""

import dataclasses

from common.errors import UserError
from common.options.command_line import read
from common.options.limits import deferred
from common.options.own_module import attribute_of, is_own
from training.algorithm_names import check_name
from training.algorithms.algorithm import Algorithm


def load(name: str, options: str = "") -> Algorithm:
    """The algorithm `name` with its own `options`: `clip_low=0.2,clip_high=0.28`.

    Raises:
        UserError: there is no such algorithm; an option is not NAME=VALUE, not one of its own, or out of its range.
    """
    check_name(name)
    path = name if is_own(name) else f"{__name__}.{name}"
    kind = attribute_of(path, "ALGORITHM", f"ALGORITHM={name}")
    own = [field.name for field in dataclasses.fields(kind)]
    said, listed, given = f"ALGORITHM_OPTIONS={options} of {name}", ", ".join(own) or "none", {}
    for option in filter(None, options.split(",")):
        key, equals, value = option.partition("=")
        if not equals:
            raise UserError(f"ALGORITHM_OPTIONS={options}: {option!r} is not NAME=VALUE")
        if key not in own:
            raise UserError(f"{said}: there is no {key!r}; its options: {listed}")
        if key in given:
            raise UserError(f"{said}: {key} is given twice")
        given[key] = value
    arguments = [word for key, value in given.items() for word in (f"--{key}", value)]
    with deferred():
        chosen = read(kind, arguments, said, hint=f"its options: {listed}")
    try:
        return dataclasses.replace(chosen)
    except UserError as error:
        raise UserError(f"{said}: {error}") from None
