"""One trajectory: observe, ask the policy, act, until it answers or has no steps left."""

import asyncio
import dataclasses
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from collection.agent.documents import DocumentReader
from collection.agent.hiding import shown
from collection.agent.policy import Completion, Replying
from collection.config.agent import Hidden
from common.seeds import derive_seed
from data.action_spaces.space import ActionSpace
from data.action_spaces.webvoyager import SPACE
from data.actions.point_action import ActionRecord
from data.conversation import StepText
from data.task import Task
from data.trajectory import FINISHED, MAX_STEPS, TrajectoryStep
from data.trajectory_writer import TrajectoryWriter
from environments.environment import Environment, Observation, Response, respond, told

_DISK = ThreadPoolExecutor(4, thread_name_prefix="disk")  # a write waits for no judge and no browser that starts


@dataclass(frozen=True)
class Limits:
    """How a trajectory is taken: at most `max_iter` steps, `num_images` screenshots sent with each, without what is
    `hidden`; the agent acts by `action_space`."""

    max_iter: int
    num_images: int
    save_tree_nodes: bool
    hidden: Hidden = "nothing"
    action_space: ActionSpace = SPACE
    documents: DocumentReader = field(default_factory=DocumentReader)


async def run_episode(
    environment: Environment, policy: Replying, task: Task, writer: TrajectoryWriter, limits: Limits, seed: int | None
) -> None:
    """Fill and finish the trajectory folder of `writer`. Each step's seed is derived from `seed`.

    Raises:
        BrowserError, PageError, PolicyError: not the agent's fault; the folder is not finished.
        BlockedError: the website turned the agent away; the folder is not finished.
    """
    clock = Clock()
    await environment.reset(task, seed)
    clock.lap("open_s")
    steps: list[StepText] = []
    screenshots: dict[int, str] = {}
    response = Response(None)
    for number in range(1, task.steps_within(limits.max_iter) + 1):
        seen = await _add_documents(await environment.observe(), task, limits)
        clock.lap("observe_s")
        given, space = shown(seen, limits.hidden), limits.action_space
        response = told(response, seen, space)
        screenshots[number] = given.screenshot_base64
        screenshots.pop(number - limits.num_images, None)
        text = space.page_text(given.tree) if space.scale is None else seen.screen_text
        asked = StepText(text, response.feedback, notes=response.notes)
        step_seed = None if seed is None else derive_seed(seed, number)
        completion = await _ask(policy, task, writer, [*steps, asked], screenshots, seen, limits, step_seed)
        clock.lap("policy_s")
        steps.append(dataclasses.replace(asked, reply=completion.text))
        response = await respond(environment, completion.text, seen, space)
        clock.lap("act_s")
        step = _step(number, seen, asked, completion, clock.take())
        if not space.fixed_feedback:
            step = dataclasses.replace(step, shown=text)
        if space.scale is not None:
            records = [ActionRecord.of(space.name, space.scale, seen.screen, action) for action in response.actions]
            step = dataclasses.replace(step, actions=[dataclasses.asdict(record) for record in records])
        await _on_disk(writer.add_step, step, seen.tree)
        if response.answer is not None:
            break
    for name, content in (await environment.final_state()).items():
        await _on_disk(writer.write_final, name, content)
    await _on_disk(writer.finish, MAX_STEPS if response.answer is None else FINISHED, response.answer)


class Clock:
    """Seconds by name since the last lap, for a step's `timings_s`."""

    def __init__(self) -> None:
        self._last = time.monotonic()
        self._laps: dict[str, float] = {}

    def lap(self, name: str) -> None:
        """Name the time since the last lap."""
        now = time.monotonic()
        self._laps[name], self._last = round(now - self._last, 4), now

    def take(self) -> dict[str, float]:
        """The laps so far; begins anew."""
        laps, self._laps = self._laps, {}
        return laps


async def _add_documents(seen: Observation, task: Task, limits: Limits) -> Observation:
    """The observation, and below it what downloaded PDFs say."""
    text = await limits.documents.read(seen.files, task.ques) if seen.files else ""
    return dataclasses.replace(seen, tree=f"{seen.tree}\n\n{text}") if text else seen


async def _ask(
    policy: Replying,
    task: Task,
    writer: TrajectoryWriter,
    steps: list[StepText],
    screenshots: dict[int, str],
    seen: Observation,
    limits: Limits,
    seed: int | None,
) -> Completion:
    """The policy's reply; the observation is written to disk while it thinks."""
    number = len(steps)
    nodes = {str(label): node for label, node in seen.nodes.items()} if limits.save_tree_nodes else None
    reply = policy.reply(task, writer.folder.name, steps, screenshots, seed)
    boxes = {label: node["union_bound"] for label, node in seen.nodes.items() if "union_bound" in node}
    written = _on_disk(writer.write_observation, number, seen.tree, nodes, seen.screenshot_png, boxes)
    completion, _ = await asyncio.gather(reply, written)
    return completion


async def _on_disk(write: Callable[..., None], *arguments: Any) -> None:
    """Write in a thread: a slow disk holds up this session alone."""
    await asyncio.get_running_loop().run_in_executor(_DISK, write, *arguments)


def _step(
    number: int, seen: Observation, asked: StepText, completion: Completion, timings_s: dict[str, float]
) -> TrajectoryStep:
    return TrajectoryStep(
        number=number,
        url=seen.url,
        reply=completion.text,
        feedback=asked.feedback,
        notes=asked.notes,
        prompt_tokens=completion.prompt_tokens,
        completion_tokens=completion.completion_tokens,
        weights_version=completion.weights_version,
        token_ids=completion.token_ids,
        logprobs=completion.logprobs,
        sampling=completion.sampling,
        timings_s=timings_s,
    )
