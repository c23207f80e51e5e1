"""A run's folder as `elcano run` leaves it, whose times come from a server and pages of known speed."""

import asyncio
import itertools
import json
import os
import random
from collections.abc import Sequence
from pathlib import Path

from common.files import write_json
from data.outcome import Outcome, Verdict
from data.trajectory import write_outcome
from elcano.planning.clock import run_virtually
from elcano.planning.simulation import Server, Setting
from elcano.planning.speeds import ServerSpeed
from elcano.planning.station import Station
from elcano.recipe import Recipe, remember_recipe

SERVER = ServerSpeed(fixed_s=0.2, each_s=0.1)
DELAY_S, WORK_S = 0.3, 0.1  # of a step's page; delays and replies vary as an exponential distribution does
NUM_STEPS, CORES, START_S = 3, 2, 5.0
_BEGAN_AT = 1_700_000_000.0


def write_run(folder: Path, recipe: Recipe, tasks_by_stage: dict[str, int], at_once: Sequence[str] = ()) -> None:
    """Stages such as IL/explore and IL/test with so many tasks, 16 sessions, each trajectory `NUM_STEPS` long; those
    `at_once` begin when the one before them did."""
    folder.mkdir()
    remember_recipe(recipe, folder)
    (folder / "stages").mkdir()
    began_at = ended_at = _BEGAN_AT
    for stage, num_tasks in tasks_by_stage.items():
        began_at = began_at if stage in at_once else ended_at + 60
        name, _, kind = stage.partition("/")
        trajectories = folder / name / {"explore": "trajectories"}.get(kind, kind)
        seconds = run_virtually(_browse(trajectories, num_tasks, began_at)) + START_S
        note = {"stage": stage, "seconds": seconds, "finished_at": began_at + seconds}
        write_json(folder / "stages" / f"{stage.replace('/', '.')}.json", note)
        ended_at = began_at + seconds


async def _browse(folder: Path, num_tasks: int, began_at: float) -> float:
    cores = Station(lambda n: min(1.0, CORES / n))
    setting = Setting(nodes=1, cores=CORES, sessions=16, seats=16, replicas=1, max_batch_size=16, max_queue=256)
    server, numbers = Server(SERVER, setting), iter(range(num_tasks))

    chance = random.Random(folder.parent.name)

    async def session() -> None:
        for number in numbers:
            await _take(folder / f"taskShop--{number}", cores, server, began_at, chance)

    await asyncio.gather(*(session() for _ in range(16)))
    return asyncio.get_running_loop().time()


async def _take(folder: Path, cores: Station, server: Server, began_at: float, chance: random.Random) -> None:
    folder.mkdir(parents=True)
    clock, lines = asyncio.get_running_loop(), []
    for number in range(1, NUM_STEPS + 1):
        moments = [clock.time()]
        await cores.serve(WORK_S / 2)
        moments.append(clock.time())
        await server.reply(chance.expovariate(1.0))
        moments.append(clock.time())
        await asyncio.sleep(chance.expovariate(1 / DELAY_S))
        await cores.serve(WORK_S / 2)
        moments.append(clock.time())
        (folder / f"screenshot{number}.png").write_bytes(b"x" * 1000)
        os.utime(folder / f"screenshot{number}.png", (0, began_at + moments[1]))
        spent = [after - before for before, after in itertools.pairwise(moments)]
        times = dict(zip(("observe_s", "policy_s", "act_s"), spent, strict=True))
        lines.append(json.dumps({"number": number, "timings_s": times}))
    (folder / "steps.jsonl").write_text("\n".join(lines))
    write_outcome(folder, Outcome(Verdict.SUCCESS, ""))
    write_json(folder / "trajectory.json", {"status": "finished", "task": {"web": "http://shop.localhost:7070/"}})
    os.utime(folder / "trajectory.json", (0, began_at + clock.time()))
