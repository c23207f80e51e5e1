"""Worlds as Gymnasium environments, with the fields of observations that BrowserGym's users know.

    import environments.gymnasium_adapter               registers elcano/<world>, elcano/<app>, elcano/<app>.<template>
    env = gymnasium.make("elcano/sites")
    observation, info = env.reset(options={"task": "Shop-price-test--000"})
    observation, reward, terminated, truncated, info = env.step("Click [4]")

Needs the package gymnasium (`pip install -e '.[gymnasium]'`). Of BrowserGym's own: an observation's `goal`, `url`,
`screenshot`, `axtree_txt`, `last_action`, `last_action_error`, and that a reward comes with the last step.
"""

import io
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from PIL import Image

import environments
from common.errors import UserError
from environments.apps.application import app_names, make_app
from environments.stepping import OneEnvironment, View, as_reply
from environments.world import world_names

APP_SEEDS = tuple(range(50))
"""Of each template of an application, where `env_seeds` says nothing else."""


class Words(spaces.Text):
    """Any text. (Gymnasium's own allows the letters of a list.) Samples are short."""

    def __init__(self) -> None:
        super().__init__(max_length=1_000_000, min_length=0)

    def contains(self, x: Any) -> bool:
        return isinstance(x, str)

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        return "".join(self.np_random.choice(list(self.characters), size=8))


class GymnasiumEnvironment(gymnasium.Env):
    """An action is one of the seven actions, such as `Click [4]`, or a whole reply with its thought.

    Args:
        world: its name; the other arguments are those of `environments.make`.
        size: width and height of screenshots; those of other sizes are scaled.
    """

    metadata = {"render_modes": ["rgb_array"]}  # noqa: RUF012 - Gymnasium's own

    def __init__(
        self, world: str, size: tuple[int, int] = (1024, 768), render_mode: str | None = None, **settings: Any
    ):
        inner = environments.make(world, **settings)
        if not isinstance(inner, OneEnvironment):
            raise UserError("num_envs: Gymnasium's vector environments make several of these")
        self._inner = inner
        self._size, self.render_mode = size, render_mode
        self._view: View | None = None
        self.action_space = Words()
        texts = ("goal", "url", "axtree_txt", "last_action", "last_action_error")
        self.observation_space = spaces.Dict(
            {
                **{name: Words() for name in texts},
                "screenshot": spaces.Box(0, 255, (size[1], size[0], 3), np.uint8),
            }
        )

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Begin the task whose id `options` holds, or one that is drawn. A seed decides this draw and later ones."""
        super().reset(seed=seed)
        number, chance = self.np_random.integers(len(self._inner.tasks)), int(self.np_random.integers(2**31))
        task = (options or {}).get("task")
        self._view = self._inner.reset(self._inner.tasks[number] if task is None else task, chance)
        return self._observation(self._view, ""), {"task": self._view.task.id}

    def step(self, action: str) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        """Carry out the action."""
        if not isinstance(action, str):
            raise UserError(f"an action is a text such as 'Click [4]', not {action!r}")
        self._view, reward, terminated, truncated, info = self._inner.step(as_reply(action))
        return self._observation(self._view, action), reward, terminated, truncated, info

    def render(self) -> np.ndarray | None:
        """The screenshot, [height, width, 3]."""
        return self._screenshot(self._view) if self.render_mode and self._view else None

    def close(self) -> None:
        self._inner.close()

    def _observation(self, view: View, action: str) -> dict[str, Any]:
        return {
            "goal": view.task.ques,
            "url": view.seen.url,
            "axtree_txt": view.seen.tree,
            "last_action": action,
            "last_action_error": view.feedback,
            "screenshot": self._screenshot(view),
        }

    def _screenshot(self, view: View) -> np.ndarray:
        with Image.open(io.BytesIO(view.seen.screenshot_png)) as image:
            return np.asarray(image.convert("RGB").resize(self._size))


for _name in world_names():
    gymnasium.register(f"elcano/{_name}", entry_point=GymnasiumEnvironment, kwargs={"world": _name})
for _app in app_names():
    for _tasks in (_app, *(f"{_app}.{_template}" for _template in make_app(_app).module("tasks").TEMPLATES)):
        _of_app = {"world": "apps", "env_tasks": (_tasks,), "env_seeds": APP_SEEDS}
        gymnasium.register(f"elcano/{_tasks}", entry_point=GymnasiumEnvironment, kwargs=_of_app)
