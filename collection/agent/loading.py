"""A policy for programs and notebooks: load one, then ask it what to do about what an environment shows.

policy = load_policy("http://localhost:8080/predict")
reply = policy.act(env.reset())
"""

import asyncio
import contextlib
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Self, overload

from collection.agent.policy import Policy, Sampling
from collection.agent.predict_policy import PredictPolicy
from common.background import await_in_background, run_in_background
from common.defaults import ROOT, STARTING_POLICY
from common.errors import UserError
from common.processes import die_with_parent
from environments.stepping import View


def load_policy(
    where: str | Path = STARTING_POLICY, *, model: str = "", key: str = "", **sampling: Any
) -> "LoadedPolicy":
    """A policy behind a server's `/predict`, behind an OpenAI-compatible endpoint's base URL, or a folder of weights.

    A folder is served by `server/hf_online_server.py` in a process that ends with this one. `model` and `key` are an
    endpoint's, `sampling` are fields of `Sampling`, such as `temperature` and `last_n` screenshots.

    Raises:
        UserError: nothing answers there, or the folder cannot be served.
    """
    with contextlib.ExitStack() as stack:
        address = str(where)
        if not address.startswith(("http://", "https://")):
            address = stack.enter_context(_served(Path(where)))
        if address.endswith("/predict"):
            policy: Policy = PredictPolicy([address], Sampling(**sampling))
        else:
            from collection.agent.chat_policy import ChatPolicy  # the openai package takes a second to import

            policy = ChatPolicy(model, key, address, Sampling(**sampling))
        run_in_background(policy.check())
        return LoadedPolicy(policy, stack.pop_all())


class LoadedPolicy:
    """Says what to do next. It remembers nothing: a view holds all that was shown and said before."""

    def __init__(self, policy: Policy, used: contextlib.ExitStack):
        self._policy, self._used = policy, used

    @overload
    def act(self, view: View, seed: int | None = None) -> str: ...

    @overload
    def act(self, view: Sequence[View], seed: int | None = None) -> list[str]: ...

    def act(self, view: View | Sequence[View], seed: int | None = None) -> str | list[str]:
        """The reply to a view, or to each of several, asked for at the same time.

        Raises:
            PolicyError: the server gave none.
        """
        views = [view] if isinstance(view, View) else view
        replies = run_in_background(self._ask(views, seed))
        return replies[0] if isinstance(view, View) else replies

    async def act_async(self, views: Sequence[View], seed: int | None = None) -> list[str]:
        """The replies, for programs with an event loop of their own."""
        return await await_in_background(self._ask(views, seed))

    async def _ask(self, views: Sequence[View], seed: int | None) -> list[str]:
        asked = (
            self._policy.reply(view.task, view.episode, view.steps, dict(view.screenshots), seed) for view in views
        )
        return [completion.text for completion in await asyncio.gather(*asked)]

    def close(self) -> None:
        """Close connections, and end the server of a folder."""
        run_in_background(self._policy.close())
        self._used.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@contextlib.contextmanager
def _served(folder: Path) -> Iterator[str]:
    """The `/predict` address of a server of these weights."""
    if not folder.is_dir():
        raise UserError(f"{folder}: neither a folder of weights nor an http address")
    command = [sys.executable, "server/hf_online_server.py", "--model_name_or_path", str(folder.resolve())]
    process = subprocess.Popen(
        [*command, "--port", "0"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=die_with_parent,
    )
    assert process.stdout is not None
    try:
        line = process.stdout.readline().strip()
        if not line:
            raise UserError(f"{folder} cannot be served; python server/hf_online_server.py says why")
        yield line.rpartition(" on ")[2] + "/predict"
    finally:
        process.kill()
        process.wait()
