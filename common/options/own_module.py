"""A name with a dot is a module of one's own, anywhere on PYTHONPATH: `ALGORITHM=mine.rloo`, `--judge mine.overlap`."""

import importlib
from typing import Any

from common.errors import UserError


def is_own(name: str) -> bool:
    """Whether `name` is a module's path and not a name that is known here."""
    return "." in name


def attribute_of(module: str, attribute: str, said: str) -> Any:
    """`attribute` of a module; `said`: what named it, as the user wrote it.

    Raises:
        UserError: there is no such module, it does not import, or it lacks the attribute.
    """
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise UserError(f"{said}: no module that has {attribute} ({error})") from None
