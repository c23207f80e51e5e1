"""Every command line of Elcano: a dataclass becomes flags, a `UserError` becomes one line and exit code 2."""

import contextlib
import dataclasses
import errno
import os
import select
import signal
import sys
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import TypeVar

from common.errors import UserError
from common.full_disk import full_disk_error
from common.garbage import unsearched_at_end
from common.not_installed import way_out
from common.options.command_line import as_typed, read
from common.options.limits import deferred
from common.processes import reach_own_hosts_directly
from common.shown.terminal import error_line

Config = TypeVar("Config")
Argument = TypeVar("Argument")


def run(
    config_type: type[Config],
    main: Callable[[Config], int | None],
    description: str | None = None,
    program: str | None = None,
) -> None:
    """Parse `sys.argv` into `config_type` (flags with underscores, as published) and exit with what `main` returns.

    Help calls the command `program`; by default as it was started.
    """
    sys.exit(guarded(lambda kind: main(parse(kind, description=description, program=program)), config_type))


def parse(
    config_type: type[Config],
    arguments: Sequence[str] | None = None,
    description: str | None = None,
    program: str | None = None,
) -> Config:
    """`arguments` (`sys.argv` by default) as a dataclass; `UserError` for what it does not allow."""
    with deferred():
        config = read(config_type, sys.argv[1:] if arguments is None else arguments, program, description)
    return dataclasses.replace(config)


def guarded(main: Callable[[Argument], int | None], argument: Argument) -> int:
    """Call `main(argument)`; a `UserError` or a full disk becomes `error: ...` on stderr and 2, Ctrl-C becomes 130, and
    141 means that whoever read the output left (`| head`)."""
    reach_own_hosts_directly()
    unsearched_at_end()
    try:
        try:
            code = main(argument) or 0
        except SystemExit:  # --help
            _flush()
            raise
        _flush()
        return code
    except UserError as error:
        return _refused(error)
    except KeyboardInterrupt:
        _drop_unread()
        return 130
    except BrokenPipeError:
        if not _drop_unread():
            raise
        return 128 + signal.SIGPIPE
    except Exception as error:
        if told := full_disk_error(error) or _wrong_place(error):
            return _refused(told)
        raise


_WRONG_PLACE = {errno.EROFS, errno.EACCES, errno.EPERM, errno.EISDIR, errno.ENOTDIR, errno.EEXIST, errno.ENAMETOOLONG}


def _wrong_place(error: Exception) -> UserError | None:
    """The line about a path that the system refuses, as it is read-only, a folder for a file or the reverse; None where
    something else is wrong."""
    if not isinstance(error, OSError) or error.errno not in _WRONG_PLACE or not error.filename:
        return None
    path = os.fsdecode(error.filename2 or error.filename)  # of a copy the second is written
    return UserError(f"{_meant(Path(path))}: {error.strerror}; name another path, or make this one usable")


def _meant(path: Path) -> Path:
    """What was to be written, where `path` is one of ours beside it, which becomes it at the end."""
    return Path(
        *(
            part[1:-4].removesuffix(f".{os.getpid()}") if part.startswith(".") and part.endswith(".tmp") else part
            for part in path.parts
        )
    )


def _refused(error: UserError) -> int:
    with contextlib.suppress(OSError):  # where the disk of a log is what is full, the exit code says it alone
        print(error_line(UserError(as_typed(str(error), sys.argv[1:]))), file=sys.stderr, flush=True)
    _drop_unread()
    return 2


def _flush() -> None:
    if sys.stdout is not None:  # as it is after `>&-`
        sys.stdout.flush()


def _drop_unread() -> bool:
    """Whether nobody reads standard output any more; then what Python flushes as it ends goes nowhere."""
    if gone := _nobody_reads():
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return gone


def _nobody_reads() -> bool:
    """Standard output is a pipe that was closed at its other end."""
    try:
        poll = select.poll()
        poll.register(sys.stdout, 0)
        return any(event & select.POLLERR for _, event in poll.poll(0))
    except (TypeError, ValueError, OSError):  # TypeError: there is none
        return False


def check_installed(*packages: str) -> None:
    """Raise UserError where this Python lacks a package, before a traceback does."""
    missing = [name for name in packages if find_spec(name) is None]
    if missing:
        raise UserError(f"No module named {missing[0]!r} in {sys.executable}; {way_out()}")


def _quiet_when_interrupted(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Ctrl-C while a command still imports is no error of its own; Python then ends by that signal."""
    if not issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trace)


sys.excepthook = _quiet_when_interrupted
