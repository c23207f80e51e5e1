"""As actors of a Ray cluster whose nodes share this machine's files: docs/howto/clusters.md."""

import contextlib
import dataclasses
import functools
import os
import secrets
import shlex
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from common import progress
from common.errors import UserError
from common.processes import LISTENING, reach_own_hosts_directly
from common.ray_cluster.settings import is_own, prepare
from elcano.console import console, live_line
from elcano.executors.executor import ADDRESS, Command, LostError
from elcano.executors.local import END_TIMEOUT_S, last_words, ports, wait_until_healthy, wait_until_listening
from elcano.resources import ANY, Needs, Resources

if TYPE_CHECKING:
    from elcano.ray_cluster.place import Place

_KEY = "ELCANO_API_KEY"
_LOOP = "127.0.0.1"
_POLL_S = 0.5
_WITHOUT_A_RANK_S = 30.0
"""Ranks that have lost one save nothing more; torchrun may wait for it for five minutes."""
_MOST_LOSSES = 3
"""So often a command is begun: after that it is no accident."""


class Executor:
    """Each command is a child process of an actor, which ends with this run however that ends. Ray's own variables,
    such as its token, are not for commands."""

    runs_beside = False

    def __init__(self) -> None:
        self._variables = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
        self._variables[_KEY] = os.environ.get(_KEY) or secrets.token_urlsafe(24)  # others reach the servers, too
        address = os.environ.get("RAY_ADDRESS", "")
        said = "--executor ray" if is_own(address) else f"--executor ray: RAY_ADDRESS={address}"
        prepare(address, said)
        if is_own(address):
            console.print("starting Ray on this machine")
        from common.ray_cluster import cluster  # only now: Ray reads its settings as it is imported
        from elcano.ray_cluster import place

        cluster.join(address, said)
        self._own_node, self._check_needs = cluster.own_node(), place.check_needs
        self._placed, self._placed_together, self._num_fitting = place.placed, place.placed_together, place.num_fitting
        self._node = ""  # of the services that listen on loopback: what uses them runs there
        self._services: list[Place] = []

    def check(self, needs: Needs) -> None:
        """As `elcano.executors.executor.Executor`, by the nodes that are there; others may join later."""
        self._check_needs(needs)

    def run(self, command: Command, resources: Resources = ANY) -> None:
        """As `elcano.executors.executor.Executor`. When a node or a worker dies, the command is begun again and goes on
        from what it saved; on fewer nodes, where fewer are left."""
        for _ in range(_MOST_LOSSES - 1):
            try:
                self._run(command, resources)
                return
            except LostError as error:
                console.print(f"  {error}", markup=False, soft_wrap=True)
                left = max(1, min(resources.num_nodes, self._num_fitting(resources)))
                console.print(f"  begun again, on {left} {'node' if left == 1 else 'nodes'}")
                resources = dataclasses.replace(resources, num_nodes=left)
        self._run(command, resources)

    def _run(self, command: Command, resources: Resources) -> None:
        command = _limited(command, resources)
        console.print(f"  [dim]$ {command.typed}[/dim]\n  [dim]log: {command.log}[/dim]", soft_wrap=True)
        command.report.unlink(missing_ok=True)
        what = f"`{shlex.join(command.words[:3])} ...`"
        with self._placed_together(resources, self._node, self._services) as places:
            deadline = time.monotonic() + resources.time_h * 3600 if resources.time_h else float("inf")
            try:
                for place, told in zip(places, _meeting(places), strict=True):
                    begun = dataclasses.replace(command, variables={**command.variables, **told})
                    place.begin(begun, {**self._variables, progress.VARIABLE: str(command.report)})
                with live_line() as show:
                    while (code := _polled_together(places)) is None:
                        show({command.name: progress.read(command.report)})
                        if time.monotonic() > deadline:
                            raise UserError(f"was ended after its {resources.time_h:g} h; the same command continues")
                if code:
                    _check_there(places)
            except UserError as error:
                _end(places, _WITHOUT_A_RANK_S if isinstance(error, LostError) else END_TIMEOUT_S)
                raise type(error)(f"{what} {error} (log: {command.log})") from None
            except BaseException:
                console.print(
                    "  stopping: waiting until the command above has saved its work; Ctrl-C again stops it at once"
                )
                _end(places)
                raise
        if code:
            raise UserError(f"{what} ended with code {code}: {last_words(command.log)} (log: {command.log})")

    @contextlib.contextmanager
    def service(
        self, command: Callable[[str, int], Command], health: str, resources: Resources = ANY, wanted_port: int = 0
    ) -> Iterator[str]:
        """As `elcano.executors.executor.Executor`. What listens on loopback alone runs on this machine, and so does
        every command while it does."""
        before = self._node
        on_loopback = not command(ADDRESS, 0).listens_on_node
        with self._placed(resources, self._own_node if on_loopback else "", self._services) as place:
            host = _LOOP if on_loopback else place.address
            reach_own_hosts_directly(host)
            self._variables |= {name: os.environ[name] for name in ("no_proxy", "NO_PROXY")}
            try:
                started, port = self._listening(
                    command, host, ports(wanted_port if on_loopback else 0), place, resources
                )
                url = f"http://{host}:{port}"
                wait_until_healthy(lambda: _polled(place, started), url + health, started.log)
                self._services.append(place)
                self._node = place.node if on_loopback else before
                yield url
            finally:
                self._node = before
                if place in self._services:
                    self._services.remove(place)
                place.end(timeout_s=10)

    def _listening(
        self, command: Callable[[str, int], Command], host: str, tried: list[int], place: "Place", resources: Resources
    ) -> tuple[Command, int]:
        """The service and its port: of those `tried` the first that is not another process's."""
        for port in tried:
            started = _limited(command(host, port), resources)
            started.listening.unlink(missing_ok=True)
            place.begin(started, {**self._variables, LISTENING: str(started.listening.resolve())})
            if found := wait_until_listening(functools.partial(_polled, place, started), started):
                return started, found
            place.end(timeout_s=10)
        raise AssertionError("the last one is 0, which is any that is free")


def _meeting(places: list["Place"]) -> list[dict[str, str]]:
    """Of each place the variables by which `training/train.sh` finds the others; none for a command on one node."""
    if len(places) == 1:
        return [{}]
    chief = places[0]
    shared = {
        "HOST_NUM": str(len(places)),
        "CHIEF_IP": chief.address,
        "MASTER_PORT": str(chief.held_port()),
    }
    return [{**shared, "INDEX": str(index)} for index in range(len(places))]


def _polled_together(places: list["Place"]) -> int | None:
    """The exit code as soon as all have ended, or one that is not 0."""
    codes = [place.poll(_POLL_S / len(places)) for place in places]
    failed = [code for code in codes if code]
    return failed[0] if failed else None if None in codes else 0


def _check_there(places: list["Place"]) -> None:
    """`LostError` where one is gone: the others failed for want of it."""
    for place in places:
        place.poll(0.0)


def _end(places: list["Place"], timeout_s: float = END_TIMEOUT_S) -> None:
    """The ranks of a training end together: the first one that is asked tells the others."""
    for place in places:
        place.end(timeout_s)


def _limited(command: Command, resources: Resources) -> Command:
    limits = {"OMP_NUM_THREADS": str(resources.num_cores)} if resources.num_cores else {}
    return dataclasses.replace(command, variables={**limits, **command.variables})


def _polled(place: "Place", command: Command) -> int | None:
    """The exit code of a service that has ended."""
    try:
        return place.poll(0.0)
    except UserError as error:
        raise UserError(f"a service {error} (log: {command.log})") from None
