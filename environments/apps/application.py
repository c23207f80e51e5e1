"""An application: the modules of its folder, and where on this machine it is installed.

A folder `environments/apps/<name>/` holds these modules, each with these names:

    install.py    ABOUT, an `About` (installing.py)
    seed.py       CONTENT (files that decide what it holds); build(program, state), an empty folder
    start.py      COOKIES, START (a path); command(program, state, port, address) -> the server's command line
    snapshot.py   restore(seed, state): put a running server's state back
    check.py      records(state) -> what it holds, as flat dicts; place(url) -> what a page is about
    tasks.py      TEMPLATES
    solvers.py    SOLVERS, one for each template

`program` is the folder of the installed packages, `seed` the state that every episode begins with. `address` is where
browsers find the start page, which may be through a router at another port.
"""

import hashlib
import importlib
import json
import os
import shutil
import time
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

from common.errors import UserError
from common.files import locked, read_json, write_json
from environments.apps.changes import digest
from environments.apps.clock import BUILT
from environments.apps.installing import About

HERE = Path(__file__).parent
Record = dict[str, Any]


def app_names() -> list[str]:
    """The folders here that hold an application."""
    return sorted(path.parent.name for path in HERE.glob("*/install.py"))


def make_app(name: str) -> "Application":
    """The application of that folder.

    Raises:
        UserError: there is none.
    """
    if name not in app_names():
        raise UserError(f"there is no application {name!r}; known are {', '.join(app_names())}")
    return Application(name)


def home() -> Path:
    """Where applications are installed: ELCANO_APPS, or a folder of the user's cache."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("ELCANO_APPS") or Path(cache) / "elcano" / "apps")


@dataclass(frozen=True)
class Application:
    """One of them, by the name of its folder. A change of its packages or of its content is another installation."""

    name: str

    def module(self, name: str) -> ModuleType:
        """Of its folder, or of the application that it is like."""
        owner = self.name if (self.folder / f"{name}.py").exists() else self.about.like
        return importlib.import_module(f"environments.apps.{owner}.{name}")

    @property
    def about(self) -> About:
        """What it is, and what it is installed from."""
        return importlib.import_module(f"environments.apps.{self.name}.install").ABOUT

    @property
    def folder(self) -> Path:
        """Of its modules."""
        return HERE / self.name

    @property
    def title(self) -> str:
        return self.about.title

    @property
    def host(self) -> str:
        """Where its pages are, without the port."""
        return f"{self.name.replace('_', '-')}.localhost"

    @cached_property
    def program(self) -> Path:
        """The folder of its packages."""
        packages = json.dumps([*self.about.packages, self.about.version])
        return home() / self.name / f"program-{_short(packages.encode())}"

    @cached_property
    def seed(self) -> Path:
        """The state that every episode begins with."""
        content = [(self.folder / name).read_bytes() for name in self.module("seed").CONTENT]
        return home() / self.name / f"seed-{_short(self.program.name.encode(), BUILT.encode(), *content)}"

    def address(self, origin: str) -> str:
        """Of its start page."""
        return f"{origin}{self.module('start').START}"

    @property
    def logs(self) -> Path:
        """Folder of what its servers say."""
        return home() / self.name / "logs"

    @property
    def installed(self) -> bool:
        return (self.seed / "whole.json").exists() and (self.program / "whole.json").exists()

    def install(self) -> dict[str, float]:
        """Install what is missing; the seconds that each part took, now or when it was done."""
        home().mkdir(parents=True, exist_ok=True)
        with locked(home() / self.name / "install"):
            return {
                "install_s": _once(self.program, self.about.install),
                "seed_s": _once(self.seed, self._build),
            }

    def check_installed(self) -> None:
        """Raise UserError unless it is."""
        if not self.installed:
            raise UserError(f"{self.title} is not installed: python -m environments.apps install {self.name}")

    def build_state(self, folder: Path) -> None:
        """Build what the seed holds once more, elsewhere."""
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        self.module("seed").build(self.program, folder)

    @cached_property
    def seed_records(self) -> list[Record]:
        """What the seed holds.

        Raises:
            UserError: it is not installed.
        """
        self.check_installed()
        return read_json(self.seed / "records.json")

    def records(self, state: Path) -> list[Record]:
        """What a state holds."""
        return self.module("check").records(state)

    def _build(self, folder: Path) -> None:
        self.build_state(folder / "state")
        write_json(folder / "records.json", self.records(folder / "state"), indent=None)

    @property
    def digest(self) -> str:
        """Of what the seed holds."""
        return digest(self.seed_records)


def _once(folder: Path, make: Any) -> float:
    """Make the folder unless it is there and whole."""
    mark = folder / "whole.json"
    if not mark.exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        begin = time.monotonic()
        make(folder)
        write_json(mark, {"seconds": round(time.monotonic() - begin, 1)})
    return read_json(mark)["seconds"]


def _short(*parts: bytes) -> str:
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:10]


def chosen_apps(names: Iterable[str]) -> list[Application]:
    """These, or all."""
    return [make_app(name) for name in names or app_names()]
