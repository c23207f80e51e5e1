"""Install, look at and check real applications.

    python -m environments.apps install             all of them, each into an environment of its own
    python -m environments.apps list
    python -m environments.apps start trac --port 7302
    python -m environments.apps check trac          measures it, and compares what it holds with a second build

They lie in ELCANO_APPS, by default a folder of your cache. Agents reach them with `--env apps`.
"""

import asyncio
import dataclasses
import signal
import sys
import tempfile
import time
from pathlib import Path
from runpy import run_path
from typing import Annotated

try:
    from common import cli
except ModuleNotFoundError as missing:  # not the python of the virtual environment
    sys.exit(run_path(str(Path(__file__).resolve().parents[2] / "common" / "not_installed.py"))["say"](missing))

import tyro

from common.defaults import short
from common.errors import UserError
from common.options.command_line import read
from common.options.limits import Checked, Port
from common.shown.tables import Table, print_table
from environments.apps.application import Application, chosen_apps, make_app
from environments.apps.changes import digest
from environments.apps.server import Server

READY_S, RESTORE_S = 10.0, 0.3
"""What a server may take."""
_RESTORES = 5

Names = tyro.conf.Positional[tuple[str, ...]]


@dataclasses.dataclass(frozen=True)
class Install:
    """Install packages and build the state that every episode begins with; what is there already is kept."""

    names: Names = ()
    """Applications; none: all."""


@dataclasses.dataclass(frozen=True)
class Start(Checked):
    """Serve one application, as at the beginning of an episode, until Ctrl-C."""

    name: tyro.conf.Positional[str]
    """The application."""
    port: Port = 0
    """Port to listen on, of this machine alone; 0 picks a free one."""


@dataclasses.dataclass(frozen=True)
class List:
    """Say which applications there are."""


@dataclasses.dataclass(frozen=True)
class Check:
    """Measure what is installed, and see whether a second build holds the same."""

    names: Names = ()
    """Applications; none: all that are installed."""


Command = (
    Annotated[Install, tyro.conf.subcommand("install")]
    | Annotated[Start, tyro.conf.subcommand("start")]
    | Annotated[List, tyro.conf.subcommand("list")]
    | Annotated[Check, tyro.conf.subcommand("check")]
)


def main(words: list[str]) -> int:
    """Carry out one command."""
    command = read(Command, words, program="python -m environments.apps", description=__doc__)
    return {Install: _install, Start: _start, List: _list, Check: _check}[type(command)](command)


def _install(command: Install) -> int:
    for app in chosen_apps(command.names):
        print(f"{app.title} ...", flush=True)
        when = ", when it was installed" if app.installed else ""
        took = app.install()
        said = f"packages {took['install_s']:.0f} s, content {took['seed_s']:.0f} s, {_megabytes(app):.0f} MB"
        print(f"{app.title}: {said}{when}, in {short(app.program.parent)}", flush=True)
    return 0


def _list(command: List) -> int:
    table = Table(("name", "installed"), ("templates", "held out", "records"), ("application (license)",))
    for app in chosen_apps(()):
        about, templates = app.about, app.module("tasks").TEMPLATES.values()
        held_out = sum(template.split == "test" for template in templates)
        records = str(len(app.seed_records)) if app.installed else ""
        title = f"{app.title} {about.version} ({about.license})"
        installed = "yes" if app.installed else "no"
        table.add(app.name, installed, str(len(templates)), str(held_out), records, title)
    print_table(table)
    return 0


def _start(command: Start) -> int:
    app = make_app(command.name)
    app.check_installed()
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))  # in good order
    asyncio.run(_serve(app, command.port))
    return 0


async def _serve(app: Application, port: int) -> None:
    with tempfile.TemporaryDirectory(prefix="elcano-apps-", ignore_cleanup_errors=True) as folder:
        server = Server(app, Path(folder) / app.name)
        await server.start(port)
        cookies = "; ".join(f"{name}={value}" for name, value in app.module("start").COOKIES.items())
        print(f"{app.title} on {app.address(f'http://127.0.0.1:{server.port}')}", flush=True)
        print(f"log in by the cookie {cookies}" if cookies else "nobody needs to log in", flush=True)
        try:
            while server.alive:
                await asyncio.sleep(0.5)
            raise UserError(f"{app.title} ended; its log: {server.log}")
        finally:
            server.stop()


def _check(command: Check) -> int:
    apps = [app for app in chosen_apps(command.names) if command.names or app.installed]
    if not apps:
        raise UserError("no application is installed: python -m environments.apps install")
    table = Table(("application", "verdict"), ("ready s", "restore s", "MB", "records"), ("digest",))
    failed = 0
    for app in apps:
        app.check_installed()
        ready_s, restore_s, complaints = asyncio.run(_measure(app))
        with tempfile.TemporaryDirectory(prefix="elcano-apps-") as folder:
            app.build_state(Path(folder) / "state")
            again = digest(app.records(Path(folder) / "state"))
        complaints += [] if again == app.digest else [f"a second build holds something else ({again})"]
        failed += bool(complaints)
        figures = (f"{ready_s:.1f}", f"{restore_s:.3f}", f"{_megabytes(app):.0f}", str(len(app.seed_records)))
        table.add(app.title, "; ".join(complaints) or "whole", *figures, app.digest)
    print_table(table)
    return int(failed > 0)


async def _measure(app: Application) -> tuple[float, float, list[str]]:
    """(seconds until it answers, the longest of several restores, what is wrong)."""
    complaints = []
    with tempfile.TemporaryDirectory(prefix="elcano-apps-", ignore_cleanup_errors=True) as folder:
        server = Server(app, Path(folder) / app.name)
        await server.start()
        try:
            longest = 0.0
            for _ in range(_RESTORES):
                begin = time.monotonic()
                if not server.restore():
                    complaints.append("a restore leaves something else")
                longest = max(longest, time.monotonic() - begin)
        finally:
            server.stop()
    complaints += [f"ready after more than {READY_S:.0f} s"] if server.ready_s > READY_S else []
    complaints += [f"restored in more than {RESTORE_S} s"] if longest > RESTORE_S else []
    return server.ready_s, longest, complaints


def _megabytes(app: Application) -> float:
    files = (path for folder in (app.program, app.seed) for path in folder.rglob("*"))
    return sum(path.lstat().st_size for path in files if not path.is_dir() or path.is_symlink()) / 1e6


if __name__ == "__main__":
    sys.exit(cli.guarded(main, sys.argv[1:]))
