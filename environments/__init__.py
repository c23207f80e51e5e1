"""What an agent acts in. `make` opens it for programs and notebooks (docs/environments.md)."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # imported when they are needed: most of the room has no use for them
    from environments.stepping import AsyncEnvironments, ManyEnvironments, OneEnvironment


def make(
    name: str, *, num_envs: int | None = None, max_steps: int = 15, seed: int | None = None, **settings: Any
) -> "OneEnvironment | ManyEnvironments":
    """The world in `environments/<name>/`, blocking: one environment, or `num_envs` of them that take lists.

    Args:
        name: sites, miniwob, webarena, or a folder of your own.
        max_steps: replies after which an episode is truncated.
        seed: what a run leaves to chance follows it.
        settings: fields of that world, such as `test_file`, `env_tasks`, `browser`.

    Raises:
        UserError: there is no such world or setting, or it cannot be served here.
    """
    from environments.stepping import ManyEnvironments, OneEnvironment

    inner = make_async(name, num_envs=1 if num_envs is None else num_envs, max_steps=max_steps, seed=seed, **settings)
    return OneEnvironment(inner) if num_envs is None else ManyEnvironments(inner)


def make_async(
    name: str, *, num_envs: int = 1, max_steps: int = 15, seed: int | None = None, **settings: Any
) -> "AsyncEnvironments":
    """The same for programs with an event loop of their own: `async with environments.make_async("sites") as envs`."""
    from environments.stepping import AsyncEnvironments
    from environments.world import make_world

    return AsyncEnvironments(make_world(name, **settings), num_envs, max_steps, seed)
