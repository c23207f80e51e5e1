"""What a run asks of the machines it uses: commands that end, and services beside them."""

import dataclasses
import importlib
import pkgutil
import shlex
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from common.errors import UserError
from elcano import executors
from elcano.resources import ANY, Needs, Resources

ADDRESS = "ELCANO_ADDRESS_OF_ITS_NODE"
"""Stands in a command's words for the address of a node that is not known yet."""


@dataclasses.dataclass(frozen=True)
class Command:
    """What a person could type in the repository's root, `variables` before the words; all output goes to `log`."""

    words: list[str]
    log: Path
    variables: dict[str, str] = dataclasses.field(default_factory=dict)

    @property
    def typed(self) -> str:
        """As one line of a shell."""
        variables = [f"{name}={shlex.quote(value)}" for name, value in self.variables.items() if value]
        return " ".join([*variables, shlex.join(self.words)])

    @property
    def name(self) -> str:
        """By its log: `IL/trajectories` of `IL/logs/trajectories.log`."""
        return f"{self.log.parent.parent.name}/{self.log.stem}"

    @property
    def report(self) -> Path:
        """Where it says how far it is (`common.progress`)."""
        return self.log.with_suffix(".progress.json")

    @property
    def listening(self) -> Path:
        """Where a service says at which port it listens (`common.processes.LISTENING`)."""
        return self.log.with_suffix(".port")

    @property
    def listens_on_node(self) -> bool:
        """Whether a service was told the address of its node; else it listens on loopback."""
        return any(ADDRESS in word for word in self.words)


class LostError(UserError):
    """A command ended because its node, or what kept it there, died."""


class Executor(Protocol):
    """`run` and `service` raise `UserError` for a command that fails; its line names the log and has the command's own
    last words."""

    runs_beside: bool
    """Whether it can run commands `beside` a block."""

    def check(self, needs: Needs) -> None:
        """At a run's start: `UserError` for what no machine that is there could ever give, which would be told hours
        later else, when its command's turn comes."""

    def run(self, command: Command, resources: Resources = ANY) -> None:
        """Return when the command has ended; one that is still running when this is interrupted is asked to end."""

    def beside(self, command: Command, resources: Resources = ANY) -> AbstractContextManager[None]:
        """Run the command while the block runs, whose commands go before it, and wait for its end behind the block; of
        an executor that `runs_beside`."""
        ...

    def service(
        self, command: Callable[[str, int], Command], health: str, resources: Resources = ANY, wanted_port: int = 0
    ) -> AbstractContextManager[str]:
        """The base URL of a service that runs until the block ends and answers at the path `health`.

        Args:
            command: of the address and port to listen at: `wanted_port`, or one that is free where that is another
                process's. The service listens by `common.processes.listen`, which says at which port it does: nobody
                else's service is ever taken for it.
                The embedded websites listen on loopback alone: where they run, browsers must run, too. One that does
                not put the address into its words is taken to do so.
        """
        ...


def load_executor(name: str) -> Executor:
    """`UserError` when there is no such file."""
    names = [module.name for module in pkgutil.iter_modules(executors.__path__) if module.name != "executor"]
    if name not in names:
        raise UserError(f"--executor {name}: there is none of that name; there are {', '.join(sorted(names))}")
    return importlib.import_module(f"elcano.executors.{name}").Executor()


def python(script: str, *words: object, **flags: object) -> list[str]:
    """`python script words --flag value ...`; True is a bare flag, None and False leave it out, a list repeats it."""
    command = [sys.executable, script, *map(str, words)]
    for name, value in flags.items():
        if value is None or value is False:
            continue
        command.append(f"--{name}")
        if isinstance(value, (list, tuple)):
            command += [str(item) for item in value]
        elif value is not True:
            command.append(str(value))
    return command
