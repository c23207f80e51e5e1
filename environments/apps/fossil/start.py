"""Fossil's own web server, and how a browser is logged in."""

from pathlib import Path

REPOSITORY = "tides.fossil"
PROJECT = "71de5" + "0" * 35
_KEY = "e1cano" * 6
COOKIES = {f"fossil-{PROJECT[:16]}": f"{_KEY}/{PROJECT[:16]}/ana"}
START = "/timeline"


def program_of(program: Path) -> tuple[str, dict[str, str]]:
    """The binary, and where its libraries are."""
    libraries = (program / folder / "lib" / "x86_64-linux-gnu" for folder in ("usr", "."))
    return str(program / "usr" / "bin" / "fossil"), {"LD_LIBRARY_PATH": ":".join(map(str, libraries))}


def command(program: Path, state: Path, port: int, address: str) -> list[str]:
    """Listens on this machine alone."""
    binary, where = program_of(program)
    serve = [binary, "server", "--localhost", "--nojail", "--port", str(port), str(state / REPOSITORY)]
    return ["/usr/bin/env", *(f"{name}={value}" for name, value in where.items()), *serve]
