"""Who takes the trajectories of a run: this process, or the nodes of a cluster."""

import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager

from collection.agent.policy import Policy
from collection.campaign.lease import Leases
from collection.campaign.options import num_sessions
from collection.campaign.pacing import Pace
from collection.campaign.taking import Collector, Join, Taker
from collection.config.commands import CollectionConfig, PolicyFlags
from data.task import Task
from environments.world import World


def collectors(
    config: CollectionConfig,
    world: World,
    tasks: Sequence[Task],
    policy: Policy,
    pace: Pace,
    held: Leases,
    say: Callable[[str], None],
) -> AbstractAsyncContextManager[Join]:
    """As `config` says."""
    if not config.ray_address:
        sessions = min(num_sessions(config.num_sessions), len(tasks))
        return this_process(config, config.max_iter, world, tasks, policy, pace, sessions)
    from collection.nodes.driver import on_nodes  # Ray is there only where it is wanted

    return on_nodes(config, world, tasks, pace, held, say)


@contextlib.asynccontextmanager
async def this_process(
    config: PolicyFlags,
    max_iter: int,
    world: World,
    tasks: Sequence[Task],
    policy: Policy,
    pace: Pace,
    sessions: int,
) -> AsyncIterator[Join]:
    """With so many sessions."""
    async with world.environments(tasks, sessions) as open_environment:

        async def join(add: Callable[[Collector], None]) -> None:
            add(Taker(config, max_iter, policy, open_environment, pace, sessions))

        yield join
