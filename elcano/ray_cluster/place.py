"""The place of a command: an actor on a node that has what the command needs."""

import contextlib
import time
from collections.abc import Iterator
from typing import Any

import ray
from ray.exceptions import ActorUnavailableError, ActorUnschedulableError, RayActorError, RayTaskError
from ray.util.placement_group import PlacementGroup, placement_group, remove_placement_group
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy, PlacementGroupSchedulingStrategy

from common.defaults import ROOT
from common.errors import UserError
from common.ray_cluster.cluster import Node, nodes
from elcano.console import console
from elcano.executors.executor import Command, LostError
from elcano.ray_cluster.node_command import NodeCommand
from elcano.resources import Needs, Resources

_PLACED_S = 15.0
"""An actor is there within seconds; after so many it waits for others to end."""
_NO_LIMITS = "no limits"
_SOME = 0.001
"""Cores of a bundle that asks for none, as Ray has no empty one."""


class Place:
    """`LostError` from each call when the actor is gone, which a killed node or worker is the reason for."""

    def __init__(self, actor: ray.actor.ActorHandle, node: str, needs: Resources) -> None:
        self._actor, self.node, self.needs = actor, node, needs
        self.address = next((found.address for found in nodes() if found.id == node), "")

    def held_port(self) -> int:
        """A port of its node that is given to nobody else while this place is there."""
        return self._call("held_port")

    def begin(self, command: Command, variables: dict[str, str]) -> None:
        """Beside its own it has `variables`, and the GPUs of this place."""
        self._call("begin", command, variables)

    def poll(self, timeout_s: float) -> int | None:
        """The exit code as soon as the command has ended; None when it has not within the time."""
        return self._call("poll", timeout_s)

    def end(self, timeout_s: float) -> None:
        """Ask it to end, wait while it saves what it has, and leave nothing of it running."""
        deadline = time.monotonic() + timeout_s
        with contextlib.suppress(UserError):  # it is gone already
            try:
                self._call("terminate")
                with contextlib.suppress(KeyboardInterrupt):  # a second Ctrl-C waits no longer
                    while self._call("poll", 1.0) is None and time.monotonic() < deadline:
                        pass
            finally:
                self._call("kill")

    def _call(self, name: str, *arguments: object) -> Any:
        while True:
            try:
                return ray.get(getattr(self._actor, name).remote(*arguments))
            except ActorUnavailableError:  # for a while, or until its node is known to be dead
                time.sleep(1)
            except RayActorError:
                alive = any(found.id == self.node for found in nodes())
                what = "the worker process that kept it has died" if alive else "the node is gone"
                raise LostError(
                    f"was ended with its place on {self.address}: {what}; the same command continues"
                ) from None
            except RayTaskError as error:
                raise UserError(f"cannot run on {self.address}: {error.cause}") from None


@contextlib.contextmanager
def placed(
    needs: Resources, node: str, beside: list[Place], within: PlacementGroupSchedulingStrategy | None = None
) -> Iterator[Place]:
    """A place on a node that has what is needed, on `node`, or `within` a bundle. It waits until others have made room;
    `UserError` where those `beside`, which stay while it waits, would have to, and where no node would do."""
    check_fits(needs, node, beside)
    actor = ray.remote(NodeCommand).options(**_options(needs, node, within)).remote()
    try:
        asked, waits = actor.node.remote(), False
        while not ray.wait([asked], timeout=_PLACED_S)[0]:
            check_fits(needs, node, beside)
            if not waits:
                console.print(f"  waiting for a node with {described(needs)}")
            waits = True
        try:
            found = ray.get(asked)
        except (RayActorError, ActorUnschedulableError) as error:
            if getattr(error, "actor_init_failed", False):
                raise UserError(
                    f"a node of the Ray cluster cannot read Elcano at {ROOT}; nodes share its files"
                ) from None
            raise UserError("a node of the Ray cluster died as a command was placed there; start again") from None
        yield Place(actor, found, needs)
    finally:
        ray.kill(actor)


@contextlib.contextmanager
def placed_together(needs: Resources, node: str, beside: list[Place]) -> Iterator[list[Place]]:
    """As `placed`, on as many nodes as are needed, all or none of which are taken: `UserError` where fewer would do."""
    with contextlib.ExitStack() as stack:
        if needs.num_nodes == 1:
            yield [stack.enter_context(placed(needs, node, beside))]
            return
        group = stack.enter_context(_bundles(needs))
        within = [PlacementGroupSchedulingStrategy(group, index) for index in range(needs.num_nodes)]
        yield [stack.enter_context(placed(needs, "", beside, one)) for one in within]


@contextlib.contextmanager
def _bundles(needs: Resources) -> Iterator[PlacementGroup]:
    """Room on `num_nodes` nodes at the same time, when others have made it."""
    if missing := _missing_nodes(needs):
        raise UserError(f"{missing}; with fewer in the recipe's needs training goes on from its checkpoint")
    asked = {"CPU": needs.num_cores or _SOME, "GPU": needs.num_gpus, "memory": needs.memory_gib << 30}
    bundle = {name: number for name, number in asked.items() if number}
    labels = [{"partition": needs.partition}] * needs.num_nodes if needs.partition else None
    group = placement_group([bundle] * needs.num_nodes, "STRICT_SPREAD", bundle_label_selector=labels)
    try:
        if not group.wait(_PLACED_S):
            console.print(f"  waiting for {needs.num_nodes} nodes with {described(needs)}")
            while not group.wait(_PLACED_S):
                pass
        yield group
    finally:
        remove_placement_group(group)


def check_needs(needs: Needs) -> None:
    """`UserError` for what no node that is there could ever take."""
    for kind, asked in needs.by_kind().items():
        try:
            if asked.num_nodes == 1:
                check_fits(asked, "", [])
            elif missing := _missing_nodes(asked):
                raise UserError(missing)
        except UserError as error:
            raise UserError(
                f"{kind}: {error}; start such nodes before the run, or ask for less in the recipe"
            ) from None


def _missing_nodes(needs: Resources) -> str:
    """What is said where fewer nodes than are needed would do."""
    fit = num_fitting(needs)
    if fit >= needs.num_nodes:
        return ""
    if described(needs) == _NO_LIMITS:
        return f"the Ray cluster has {fit} {'node' if fit == 1 else 'nodes'}, not num_nodes={needs.num_nodes}"
    have = "1 node of the Ray cluster has" if fit == 1 else f"{fit} nodes of the Ray cluster have"
    return f"{have} {described(needs)}, not num_nodes={needs.num_nodes}"


def num_fitting(needs: Resources) -> int:
    """Nodes that are there and have what is needed of one."""
    return sum(_suits(needs, found) for found in nodes())


def check_fits(needs: Resources, node: str, beside: list[Place]) -> None:
    """`UserError` when no node that is there could ever take it."""
    there = [found for found in nodes() if found.id == (node or found.id)]
    fitting = [found for found in there if (_fits(needs, found, []) if node else _suits(needs, found))]
    if not fitting:
        have = sorted({_has(found) for found in there})
        raise UserError(f"no node of the Ray cluster has {described(needs)}; there is {'; '.join(have)}")
    if not any(_fits(needs, found, beside) for found in fitting):
        raise UserError(f"no node of the Ray cluster has {described(needs)} beside the services of this run")


def described(needs: Resources) -> str:
    """Such as `4 cores, 1 GPUs`."""
    asked = [(needs.num_cores, "cores"), (needs.num_gpus, "GPUs"), (needs.memory_gib, "GiB")]
    said = [f"{number} {unit}" for number, unit in asked if number]
    return ", ".join([*said, *([f"the label partition={needs.partition}"] if needs.partition else [])]) or _NO_LIMITS


def _suits(needs: Resources, node: Node) -> bool:
    return needs.partition in ("", node.partition) and _fits(needs, node, [])


def _fits(needs: Resources, node: Node, beside: list[Place]) -> bool:
    taken = [place.needs for place in beside if place.node == node.id]
    return (
        needs.num_cores <= node.num_cores - sum(other.num_cores for other in taken)
        and needs.num_gpus <= node.num_gpus - sum(other.num_gpus for other in taken)
        and needs.memory_gib <= node.memory_gib - sum(other.memory_gib for other in taken)
    )


def _has(node: Node) -> str:
    label = f", partition={node.partition}" if node.partition else ""
    return f"{node.num_cores:.0f} cores, {node.num_gpus:.0f} GPUs, {node.memory_gib:.0f} GiB{label}"


def _options(needs: Resources, node: str, within: PlacementGroupSchedulingStrategy | None) -> dict[str, object]:
    """What the recipe leaves open takes nothing of what Ray counts."""
    where = (
        {"scheduling_strategy": within or NodeAffinitySchedulingStrategy(node, soft=False)} if within or node else {}
    )
    if needs.partition and not where:
        where = {"label_selector": {"partition": needs.partition}}
    return {
        "num_cpus": needs.num_cores,
        "num_gpus": needs.num_gpus,
        "memory": needs.memory_gib << 30,
        "max_restarts": 0,
        **where,
    }
