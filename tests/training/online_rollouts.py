"""Groups of rollouts as the pool leaves them: a tiny policy's own replies, by the real server, about made-up pages.

What became of each try is drawn, not judged: the replies of random weights solve nothing.
"""

import asyncio
import base64
import dataclasses
import random
from collections.abc import Sequence

from collection.agent.policy import Sampling
from collection.agent.predict_policy import PredictPolicy
from data.conversation import StepText
from data.online_run import Group, OnlineRun, write_group
from data.outcome import Outcome, Verdict
from data.task import Task
from data.trajectory import FINISHED, TrajectoryStep, folder_name, write_outcome
from data.trajectory_writer import TrajectoryWriter
from tests.toolkits.trajectories import screenshot

SAMPLING = Sampling(temperature=0.6, top_k=0, max_new_tokens=12, last_n=1, prompt="trained")


def write_rollouts(
    run: OnlineRun, url: str, numbers: Sequence[int], rewards: Sequence[float | None] = (1.0, 0.0, 1.0)
) -> None:
    """Complete groups `numbers`, each with a try for each of `rewards` (None: invalid), of one to three steps."""

    async def write() -> None:
        policy = PredictPolicy([f"{url}/predict"], SAMPLING)
        try:
            await asyncio.gather(*(_write_group(run, policy, number, rewards) for number in numbers))
        finally:
            await policy.close()

    asyncio.run(write())


async def _write_group(run: OnlineRun, policy: PredictPolicy, number: int, rewards: Sequence[float | None]) -> None:
    task = Task(id=f"Shop--{number % 3}", ques=f"Find shoe {number}.", web="http://shop.localhost:7070/")
    versions = await asyncio.gather(
        *(_write_try(run, policy, task, number, k, reward) for k, reward in enumerate(rewards))
    )
    everything = [version for own in versions for version in own]
    runs = list(range(len(rewards)))
    write_group(run.group(number), Group(number, task.id, runs, list(rewards), [min(everything), max(everything)]))


async def _write_try(
    run: OnlineRun, policy: PredictPolicy, task: Task, number: int, k: int, reward: float | None
) -> list[int]:
    """Its steps' versions."""
    rng = random.Random(f"{number} {k}")
    folder = run.group(number) / folder_name(task.id, k)
    provenance = {"prompt": "trained", "max_attached_imgs": 1, "text_only": False}
    writer = TrajectoryWriter(folder, task, provenance, "You browse.", run=k)
    steps: list[StepText] = []
    shots: dict[int, str] = {}
    versions = []
    for step in range(1, rng.randint(1, 3) + 1):
        tree = f"[1] RootWebArea 'Shop {number} {k} {step}'\n\t[2] link 'shoe {rng.randint(1, 99)}'"
        shot = screenshot(step, number)
        shots[step] = base64.b64encode(shot).decode()
        writer.write_observation(step, tree, None, shot)
        reply = await policy.reply(
            task, folder.name, [*steps, StepText(tree)], shots, seed=100 * number + 10 * k + step
        )
        said = TrajectoryStep(
            step,
            task.web,
            reply.text,
            prompt_tokens=reply.prompt_tokens,
            completion_tokens=reply.completion_tokens,
            weights_version=reply.weights_version,
            token_ids=reply.token_ids,
            logprobs=reply.logprobs,
            sampling=reply.sampling,
        )
        writer.add_step(said, tree)
        steps.append(dataclasses.replace(StepText(tree), reply=reply.text))
        version = run.version_of(reply.weights_version)
        assert version is not None, reply.weights_version
        versions.append(version)
    writer.finish(FINISHED, answer="42")
    verdict = {None: Verdict.INVALID, 1.0: Verdict.SUCCESS}.get(reward, Verdict.FAILURE)
    write_outcome(folder, Outcome(verdict, judge="drawn"))
    return versions
