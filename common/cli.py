"""Every command line of Elcano: a dataclass becomes flags, a `UserError` becomes one line and exit code 2."""

import sys
from collections.abc import Callable
from importlib.util import find_spec
from typing import TypeVar

import tyro

from common.defaults import ROOT
from common.errors import UserError
from common.processes import reach_own_hosts_directly

Config = TypeVar("Config")


def run(
    config_type: type[Config],
    main: Callable[[Config], int | None],
    description: str | None = None,
    program: str | None = None,
) -> None:
    """Parse `sys.argv` into `config_type` (flags with underscores, as published) and exit with what `main` returns.

    Help calls the command `program`; by default as it was started.
    """
    config = tyro.cli(config_type, description=description, use_underscores=True, prog=program)
    sys.exit(guarded(main, config))


def guarded(main: Callable[[Config], int | None], config: Config) -> int:
    """Call `main(config)`; a `UserError` becomes `error: ...` on stderr and 2, Ctrl-C becomes 130."""
    reach_own_hosts_directly()
    try:
        return main(config) or 0
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


def check_installed(*packages: str) -> None:
    """Raise UserError where this Python lacks a package, before a traceback does."""
    missing = [name for name in packages if find_spec(name) is None]
    if missing:
        raise UserError(
            f"No module named {missing[0]!r} in {sys.executable}; "
            f"run: bash {ROOT}/install.sh && source {ROOT}/.venv/bin/activate"
        )
