"""Which learning algorithms there are; known without importing one, as they need torch."""

import pkgutil
from pathlib import Path

from common.errors import UserError
from common.options.own_module import is_own

NAMES = tuple(
    sorted(
        module.name
        for module in pkgutil.iter_modules([str(Path(__file__).with_name("algorithms"))])
        if module.name != "algorithm"
    )
)


def check_name(name: str) -> None:
    """`UserError` for what is neither one of `NAMES` nor, by its dot, the path of a module of one's own."""
    if not is_own(name) and name not in NAMES:
        raise UserError(f"ALGORITHM={name}: there are {', '.join(NAMES)}, or the module path of your own")
