"""Serve a world to OpenEnv's clients, such as TRL's and verifiers': python -m environments.openenv_adapter --env apps

    from openenv import GenericEnvClient
    with GenericEnvClient(base_url="http://127.0.0.1:8000").sync() as env:
        result = env.reset(task="trac.close-ticket--0")             or reset(seed=7), which draws a task
        result = env.step({"reply": "Click [4]"})                   result.reward is 1 or 0 at the end

Needs the package openenv (or openenv-core, its former name). Every client has a browser context and servers of its
own, which no other one sees.
"""

import dataclasses
import functools
import signal
import sys
from pathlib import Path
from runpy import run_path
from typing import Annotated, Any

try:
    from common import cli
except ModuleNotFoundError as missing:  # not the python of the virtual environment
    sys.exit(run_path(str(Path(__file__).resolve().parents[1] / "common" / "not_installed.py"))["say"](missing))
try:
    from openenv.core.env_server.http_server import create_fastapi_app
    from openenv.core.env_server.interfaces import Environment
    from openenv.core.env_server.types import Action, EnvironmentMetadata, Observation, State
except ModuleNotFoundError as missing:
    print(f"error: {missing} in {sys.executable}; run: pip install openenv", file=sys.stderr)
    sys.exit(2)

from common.errors import UserError
from common.network.serving import serve_app
from common.options.limits import Checked, Port, at_least
from common.processes import listen
from data.action_spaces.webvoyager import SPACE
from environments.sessions import Session, Sessions
from environments.stepping import View, as_reply

INSTRUCTIONS = SPACE.prompt("text")


class WebAction(Action):
    """One action such as `Click [4]`, or a whole reply with its thought."""

    reply: str


class WebObservation(Observation):
    """What an agent reads. `instructions` say how actions are written; `screenshot` is a base64 PNG, or empty."""

    task: str
    goal: str
    url: str
    text: str
    feedback: str = ""
    notes: str = ""
    instructions: str = ""
    screenshot: str = ""


class WebEnvironment(Environment):
    """One client's. It takes an environment of the world as the client first resets."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self, sessions: Sessions, with_screenshots: bool):
        super().__init__()
        self._sessions, self._with_screenshots = sessions, with_screenshots
        self._session: Session | None = None
        self._state = State()

    async def reset_async(
        self, seed: int | None = None, episode_id: str | None = None, task: str | int | None = None, **_: Any
    ) -> WebObservation:
        """Begin the task of this id, one that the seed draws, or the next one."""
        if self._session is None:
            self._session = self._sessions.open()
        self._state = State()
        view = await self._session.reset(task, seed)
        self._state = State(episode_id=episode_id or view.episode, task=view.task.id)
        return self._seen(view, instructions=INSTRUCTIONS)

    async def step_async(self, action: WebAction, timeout_s: float | None = None, **_: Any) -> WebObservation:
        """Carry out the action."""
        if self._session is None:
            raise UserError("the environment has no task: call reset first")
        view, reward, terminated, truncated, info = await self._session.step(as_reply(action.reply))
        told = {name: info[name] for name in ("answer", "is_judged") if name in info}
        self._state = State(**{**self._state.model_dump(), **told, "step_count": len(view.steps) - 1})
        return self._seen(view, reward=reward, done=terminated or truncated, notes=info["notes"])

    def reset(self, seed: int | None = None, episode_id: str | None = None, **_: Any) -> WebObservation:
        raise NotImplementedError("reset_async is what the server calls")

    def step(self, action: WebAction, timeout_s: float | None = None, **_: Any) -> WebObservation:
        raise NotImplementedError("step_async is what the server calls")

    @property
    def state(self) -> State:
        return self._state

    def get_metadata(self) -> EnvironmentMetadata:
        said = f"Web tasks judged by the state of their website: {len(self._sessions.tasks)} of them"
        return EnvironmentMetadata(name="elcano", description=said)

    def close(self) -> None:
        if self._session is not None:
            self._session.close()
            self._session = None

    def _seen(self, view: View, **told: Any) -> WebObservation:
        seen = {"task": view.task.id, "goal": view.task.ques, "url": view.seen.url, "text": view.seen.tree}
        shot = view.seen.screenshot_base64 if self._with_screenshots else ""
        return WebObservation(**seen, feedback=view.feedback, screenshot=shot, **told)


@dataclasses.dataclass(frozen=True)
class Config(Checked):
    """Serve a world to OpenEnv's clients."""

    env: str = "apps"
    """The world, a folder of environments/."""
    env_tasks: tuple[str, ...] = ()
    """`apps`, `miniwob`: only these tasks, by name. None: all."""
    env_seeds: tuple[int, ...] = (0,)
    """`apps`, `miniwob`: each of these tasks once with each of these seeds."""
    test_file: Path | None = None
    """A task file in the place of these."""
    trouble: tuple[str, ...] = ()
    """`apps`: what goes wrong on the way, such as errors=0.1 (docs/reference/apps.md)."""
    num_sessions: Annotated[int, at_least(1)] = 4
    """Clients at the same time."""
    max_steps: Annotated[int, at_least(1)] = 15
    """Actions of an episode."""
    screenshots: bool = False
    """Send screenshots, too."""
    host: str = "127.0.0.1"
    """Address to listen on. Whoever reaches it may drive these browsers."""
    port: Port = 8000
    """Port to listen on; 0 picks a free one."""


def main(config: Config) -> None:
    """Serve until stopped."""
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))  # in good order
    given = {name: getattr(config, name) for name in _OF_WORLDS}
    settings = {name: value for name, value in given.items() if value != getattr(Config, name)}
    with Sessions(config.env, config.num_sessions, max_steps=config.max_steps, **settings) as sessions:
        make = functools.partial(WebEnvironment, sessions, config.screenshots)
        app = create_fastapi_app(make, WebAction, WebObservation, config.num_sessions)
        listener = listen(config.port, config.host)
        port = listener.getsockname()[1]
        print(f"{len(sessions.tasks)} tasks of {config.env} on http://{config.host}:{port}", flush=True)
        serve_app(app, listener)


_OF_WORLDS = ("env_tasks", "env_seeds", "test_file", "trouble")


if __name__ == "__main__":
    cli.run(Config, main, description=__doc__)
