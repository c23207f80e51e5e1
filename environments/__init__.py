"""What an agent acts in. `make` opens it for programs and notebooks (docs/reference/environments.md)."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # imported when they are needed: most of the room has no use for them
    from environments.stepping import AsyncEnvironments, ManyEnvironments, OneEnvironment


def make(
    name: str,
    *,
    num_envs: int | None = None,
    max_steps: int = 15,
    seed: int | None = None,
    action_space: str = "webvoyager",
    **settings: Any,
) -> "OneEnvironment | ManyEnvironments":
    """The world in `environments/<name>/`, blocking: one environment, or `num_envs` of them that take lists.

    Args:
        name: sites, apps, miniwob, touch, android, webarena, or a folder of your own.
        max_steps: replies after which an episode is truncated.
        seed: what a run leaves to chance follows it.
        action_space: how replies say what to do; one of `data/action_spaces/`.
        settings: fields of that world, such as `test_file`, `env_tasks`, `browser`.

    Raises:
        UserError: there is no such world or setting, or it cannot be served here.
    """
    from environments.stepping import ManyEnvironments, OneEnvironment

    number = 1 if num_envs is None else num_envs
    inner = make_async(name, num_envs=number, max_steps=max_steps, seed=seed, action_space=action_space, **settings)
    return OneEnvironment(inner) if num_envs is None else ManyEnvironments(inner)


def make_async(
    name: str,
    *,
    num_envs: int = 1,
    max_steps: int = 15,
    seed: int | None = None,
    action_space: str = "webvoyager",
    **settings: Any,
) -> "AsyncEnvironments":
    """The same for programs with an event loop of their own: `async with environments.make_async("sites") as envs`."""
    from data import action_spaces
    from environments.stepping import AsyncEnvironments
    from environments.world import make_world

    space = action_spaces.action_space(action_space)
    return AsyncEnvironments(make_world(name, **settings), num_envs, max_steps, seed, space)
