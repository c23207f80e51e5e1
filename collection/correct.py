"""Ask a teacher what it would have done at each step of the trajectories that failed (DAgger, Ross et al. 2011).

    python collection/correct.py --result_dir runs/optim-1/trajectories --api_model gpt-4o
    python toolkits/convert_trajectories_to_json.py --only_success --corrected --result_dir runs/1/trajectories ...

The teacher reads what the agent read, mistakes and all, so that its words show the way back from pages that no
demonstration ever leads to. They lie in each trajectory's folder as corrections.json, and are asked for once. The
converter takes the steps at which the teacher would have done something else than the agent did.
"""

import asyncio
import base64
import dataclasses
import sys
from collections.abc import Callable

from collection.agent.policy import Policy, PolicyError, UnansweredError
from collection.campaign.opening import run_until_stopped
from collection.campaign.options import make_policy
from collection.config.commands import CorrectionConfig
from common.cli import run
from common.options.key_flags import hide_keys
from common.progress import Reporter
from data.correction import Corrections, read_corrections, write_corrections
from data.outcome import Verdict
from data.task import Task
from data.trajectory import Trajectory, is_complete, list_trajectories, read_trajectory


def main(config: CorrectionConfig) -> int:
    """Correct what is not corrected yet, then say how much; 1 where the teacher answered nothing of it."""
    failed = [read_trajectory(folder) for folder in list_trajectories(config.result_dir) if is_complete(folder)]
    failed = [each for each in failed if each.outcome and each.outcome.verdict is Verdict.FAILURE and each.steps]
    todo = [each for each in failed if read_corrections(each.folder, len(each.steps)) is None]
    left: list[str] = []
    if todo:
        run_until_stopped(correct_all(todo, make_policy(config), config, left.append))
    num_now = len(todo) - len(left)
    print(f"{config.result_dir}: {len(failed)} trajectories failed, {len(failed) - len(left)} corrected, {num_now} now")
    if left:
        print(f"{len(left)} are left, as the teacher failed ({left[-1]}); the same command asks again", file=sys.stderr)
    return 1 if left and not num_now else 0


async def correct_all(
    trajectories: list[Trajectory], teacher: Policy, config: CorrectionConfig, leave: Callable[[str], None]
) -> None:
    """Several at the same time; `leave` is told why one could not be corrected this time."""
    await teacher.check()
    waiting, report = iter(trajectories), Reporter("trajectories", len(trajectories))
    num_done = 0

    async def work() -> None:
        nonlocal num_done
        for trajectory in waiting:  # each of which one worker gets
            try:
                replies = [await _reply(teacher, trajectory, number) for number in range(1, len(trajectory.steps) + 1)]
                write_corrections(trajectory.folder, Corrections(teacher.name, replies))
            except UnansweredError as error:
                leave(str(error))
            num_done += 1
            report(num_done)

    try:
        await asyncio.gather(*(work() for _ in range(config.num_sessions)))
    finally:
        await teacher.close()


async def _reply(teacher: Policy, trajectory: Trajectory, number: int) -> str:
    """What the teacher says to step `number`'s observation; "" when it knows no answer.

    Raises:
        UnansweredError: it failed, and may know one another time.
    """
    *before, newest = trajectory.texts()[:number]
    steps = [*before, dataclasses.replace(newest, reply=None)]
    task = Task(id=trajectory.task_id, ques=trajectory.ques, web=trajectory.web, web_name="")
    try:
        return (await teacher.reply(task, trajectory.folder.name, steps, _screenshots(trajectory, number), None)).text
    except UnansweredError:
        raise
    except PolicyError:
        return ""


def _screenshots(trajectory: Trajectory, number: int) -> dict[int, str]:
    """Base64 of the screenshots up to step `number`, by step."""
    return {step: base64.b64encode(trajectory.screenshot(step).read_bytes()).decode() for step in range(1, number + 1)}


if __name__ == "__main__":
    hide_keys()
    run(CorrectionConfig, main, description=__doc__)
