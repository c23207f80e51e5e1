"""`elcano plan`: queues that can be computed by hand, the collector's own schedule in virtual time, and the command."""

import asyncio
import dataclasses
import os
import random
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from common.errors import UserError
from common.files import read_json, write_json
from data.task import Task
from elcano.planning.clock import run_virtually
from elcano.planning.episodes import span_s
from elcano.planning.limits import limits
from elcano.planning.measured import Training, read_run
from elcano.planning.options import PlanConfig, check_size
from elcano.planning.plan import Planner
from elcano.planning.simulation import Server, Setting, simulate
from elcano.planning.speeds import EpisodeCost, Part, ServerSpeed, StageSpeed, StepCost, fit
from elcano.planning.station import Station
from elcano.recipe import load_recipe
from tests.conftest import ROOT
from tests.elcano.measured_run import CORES, DELAY_S, NUM_STEPS, SERVER, START_S, WORK_S, write_run

NOTHING = Part(0.0, 0.0)
QUICKSTART = ROOT / "examples" / "quickstart" / "recipe.py"


def setting(**changed: object) -> Setting:
    base = Setting(nodes=1, cores=1000, sessions=1, seats=1000, replicas=1, max_batch_size=1, max_queue=1000)
    return dataclasses.replace(base, **changed)


def speed(delay_s: float, server: ServerSpeed, work_s: float = 0.0, num_steps: int = 1) -> StageSpeed:
    """Every trajectory alike."""
    steps = (StepCost(NOTHING, Part(delay_s, work_s), 1.0),) * num_steps
    episodes = (EpisodeCost("", NOTHING, steps, True),)
    return StageSpeed("IL/test", "policy", episodes, server, start_s=0.0, mb_a_step=0.5)


def tasks(number: int, sites: int = 1) -> list[Task]:
    return [Task(f"t{one}", "", f"http://site{one % sites}.test/") for one in range(number)]


async def ends_of(station: Station, works: list[float]) -> list[float]:
    """When each of these, begun together, is done."""

    async def one(work: float) -> float:
        await station.serve(work)
        return asyncio.get_running_loop().time()

    return list(await asyncio.gather(*map(one, works)))


def test_time_jumps_and_a_deadlock_is_told() -> None:
    begin = time.monotonic()
    assert run_virtually(asyncio.wait_for(asyncio.sleep(10_000, "slept"), 20_000)) == "slept"
    assert time.monotonic() - begin < 5
    with pytest.raises(RuntimeError, match="never comes"):
        run_virtually(asyncio.Event().wait())


def test_cores_are_shared() -> None:
    """Three on two cores, works 1, 1 and 3: at 2/3 of a core each until 1.5 s, then the third alone until 3.5."""
    ends = run_virtually(ends_of(Station(lambda n: min(1.0, 2 / n)), [1.0, 1.0, 3.0]))
    assert ends == pytest.approx([1.5, 1.5, 3.5])


def test_a_batch_is_slower_than_one_and_faster_than_one_after_another() -> None:
    """10 replies take 0.5 + 0.1 * 10 s together; alone each would take 0.6."""
    found = ServerSpeed(0.5, 0.1)
    ends = run_virtually(ends_of(Station(lambda n: 1 / (found.fixed_s + found.each_s * n)), [1.0] * 10))
    assert ends == pytest.approx([1.5] * 10) and found.replies_per_s(10) == pytest.approx(10 / 1.5)


@pytest.mark.parametrize("load", [0.3, 0.7])
def test_a_server_that_takes_one_after_another_is_an_md1_queue(load: float) -> None:
    """Poisson arrivals, constant service s: the mean wait is load * s / (2 * (1 - load)) (Pollaczek and Khinchine)."""
    chance, number = random.Random(0), 10_000

    async def queue() -> float:
        server, clock, waited = Server(ServerSpeed(0.0, 1.0), setting(max_queue=10**6)), asyncio.get_running_loop(), []

        async def customer() -> None:
            begin = clock.time()
            await server.reply(1.0)
            waited.append(clock.time() - begin - 1.0)

        async with asyncio.TaskGroup() as group:
            for _ in range(number):
                await asyncio.sleep(chance.expovariate(load))
                group.create_task(customer())
        return sum(waited) / number

    assert run_virtually(queue()) == pytest.approx(load / (2 * (1 - load)), rel=0.1)


@pytest.mark.parametrize(("sessions", "steps_per_s"), [(1, 0.25), (2, 0.5), (4, 1.0), (40, 1.0)])
def test_one_server_and_n_browsers(sessions: int, steps_per_s: float) -> None:
    """Replies of 1 s, one at a time, pages of 3 s: n / 4 a second while that is less than the server's 1."""
    costs = speed(3.0, ServerSpeed(0.0, 1.0), num_steps=100)
    found = simulate(tasks(sessions), costs, setting(sessions=sessions))
    assert found.steps_per_s == pytest.approx(steps_per_s, rel=0.02)
    assert limits(costs, setting(sessions=sessions), num_sites=1)[0].steps_per_s == pytest.approx(steps_per_s)
    assert found.server_busy == pytest.approx(steps_per_s, rel=0.02)


def test_replicas_share_sessions() -> None:
    costs = speed(0.0, ServerSpeed(0.0, 1.0), num_steps=10)
    found = simulate(tasks(12), costs, setting(sessions=12, replicas=3))
    assert found.seconds == pytest.approx(40.0) and found.server_busy == pytest.approx(1.0)


def test_what_bounds_is_what_the_simulation_waits_for() -> None:
    """Works of 1 s on 2 x 2 cores; a collector of 0.5 s a step on each node; a driver of 1 MB/s for 0.5 MB a step."""
    chance, alike = random.Random(0), speed(0.0, ServerSpeed(0.0, 1e-6))
    works = [[chance.expovariate(1.0) for _ in range(5)] for _ in range(400)]  # alike they would go around in a convoy
    steps = [tuple(StepCost(NOTHING, Part(0.0, work), 1.0) for work in five) for five in works]
    costs = dataclasses.replace(alike, episodes=tuple(EpisodeCost("", NOTHING, five, True) for five in steps))
    base = setting(nodes=2, cores=2, sessions=40, max_batch_size=100)
    for changed, what, steps_per_s in (
        ({}, "cores", 4.0),
        ({"collector_s_a_step": 1.0}, "collector", 2.0),
        ({"driver_mb_s": 0.5}, "driver", 1.0),
    ):
        found = simulate(tasks(400), costs, dataclasses.replace(base, **changed))
        assert found.steps_per_s == pytest.approx(steps_per_s, rel=0.05)
        assert max((kind for kind in found.waits if kind != "page"), key=found.waits.get) == what


def test_the_real_schedule_keeps_a_websites_sessions_apart() -> None:
    """12 tasks of 2 s on 3 websites, two at a time on each: two after another, however many sessions there are."""
    costs = speed(1.0, ServerSpeed(0.0, 1.0))
    wide = setting(sessions=12, max_batch_size=12, site_concurrency=2)
    assert simulate(tasks(12, sites=3), costs, dataclasses.replace(wide, replicas=12)).seconds == pytest.approx(4.0)


def test_the_real_pace_keeps_a_websites_actions_apart() -> None:
    """8 tasks of one step on 2 websites: 4 openings and 4 actions on each, 10 s apart, the first at once."""
    found = simulate(tasks(8, sites=2), speed(0.0, ServerSpeed(0.0, 0.1)), setting(sessions=8, site_interval_s=10.0))
    assert found.seconds == pytest.approx(70.0, abs=0.5)
    assert max(found.waits, key=found.waits.get) == "site"


def test_the_real_retries_end_a_run_whose_server_refuses_too_many() -> None:
    costs = speed(0.0, ServerSpeed(0.0, 60.0))
    assert simulate(tasks(50), costs, setting(sessions=50, max_queue=100)).stopped == ""
    assert "does not answer" in simulate(tasks(50), costs, setting(sessions=50, max_queue=1)).stopped


def test_tries_end_with_a_success() -> None:
    solved = speed(1.0, ServerSpeed(0.0, 1.0))
    failed = dataclasses.replace(solved, episodes=(dataclasses.replace(solved.episodes[0], success=False),))
    assert simulate(tasks(1), solved, setting(tries=3)).num_steps == 1
    assert simulate(tasks(1), solved, setting(tries=3, all_tries=True)).num_steps == 3
    assert simulate(tasks(1), failed, setting(tries=3)).num_steps == 3


@pytest.fixture(scope="module")
def run_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "measured"
    write_run(folder, load_recipe(QUICKSTART), {"untrained/test": 100, "IL/explore": 100, "IL/test": 200})
    return folder


def test_speeds_are_found_again(run_dir: Path) -> None:
    run = read_run(run_dir)
    stage = run.browsing["IL/test"]
    assert stage.num_steps == 200 * NUM_STEPS and stage.active_s + START_S == pytest.approx(stage.seconds)
    found = fit(run, ["IL/test"], CORES, core_s_a_step=WORK_S)["IL/test"]
    assert found.server.replies_per_s(16) == pytest.approx(SERVER.replies_per_s(16), rel=0.08)
    assert found.a_step().work_s == pytest.approx(WORK_S, rel=0.01)
    assert found.a_step().delay_s == pytest.approx(DELAY_S, rel=0.1)
    assert found.start_s == pytest.approx(START_S) and found.mb_a_step == pytest.approx(0.001, rel=0.5)


@pytest.mark.parametrize("seconds_between", [0.0, 0.05])
def test_a_copy_without_file_times_is_refused(run_dir: Path, tmp_path: Path, seconds_between: float) -> None:
    """As `cp -r` makes it, long after the stage ended; and as a stage whose note is as new as the copy."""
    run = tmp_path / "run"
    shutil.copytree(run_dir, run)  # with times
    read_run(run)
    note = run / "stages" / "IL.test.json"
    copied_at = time.time()
    if seconds_between:
        write_json(note, {**read_json(note), "finished_at": copied_at + 3600})
    files = sorted(path for path in (run / "IL" / "test").rglob("*") if path.is_file())
    for number, path in enumerate(files):
        os.utime(path, (0, copied_at + number * seconds_between))
    if not seconds_between:
        for path in run.glob("IL/test/*/steps.jsonl"):  # quicker than file systems tell times apart
            path.write_text(re.sub(r"_s\": [\d.]+", '_s": 0.1', path.read_text()))
    with pytest.raises(UserError, match=r"test the files' times, .* were lost; copy the run again with cp -a"):
        read_run(run)


@pytest.mark.parametrize(
    ("damaged", "content"),
    [
        ("IL/test/taskShop--7/steps.jsonl", '{"number": 1, "timings_s": {"obs'),
        ("IL/test/taskShop--7/steps.jsonl", "[]"),
        (
            "IL/test/taskShop--7/steps.jsonl",
            '{"number": 1, "timings_s": {"observe_s": 1, "policy_s": null}}',
        ),
        ("IL/test/taskShop--7/steps.jsonl", '{"number": 9, "timings_s": {"observe_s": 1, "policy_s": 1, "act_s": 1}}'),
        ("IL/test/taskShop--7/trajectory.json", "[]"),
        ("IL/test/taskShop--7/trajectory.json", '{"status": "finished"}'),
        ("recipe.json", "[]"),
        ("recipe.json", '{"rounds": []}'),
        ("recipe.json", '{"rounds": [{"name": "IL", "agent": "teacher"}]}'),
        ("stages/IL.test.json", '{"stage": "IL/test", "seconds": "many", "finished_at": 0}'),
    ],
)
def test_a_damaged_file_is_named(run_dir: Path, tmp_path: Path, damaged: str, content: str) -> None:
    run = tmp_path / "run"
    shutil.copytree(run_dir, run)
    then = (run / damaged).stat().st_mtime
    (run / damaged).write_text(content)
    os.utime(run / damaged, (then, then))
    with pytest.raises(UserError, match=re.escape(str(run / damaged))):
        fit(read_run(run), ["IL/test"], CORES, core_s_a_step=WORK_S)


def test_a_stage_is_predicted_by_another(run_dir: Path) -> None:
    run = read_run(run_dir)
    costs = fit(run, ["untrained/test"], CORES, core_s_a_step=WORK_S)["IL/test"]
    same = setting(cores=CORES, sessions=16, seats=16, max_batch_size=16)
    measured = run.browsing["IL/test"]
    assert simulate(tasks(200), costs, same).seconds == pytest.approx(span_s(measured.attempts[0]), rel=0.05)


def test_stages_that_browsed_at_once_give_no_speeds(tmp_path: Path) -> None:
    stages = {"IL/explore": 20, "IL/test": 20, "optim-1/explore": 30, "optim-1/test": 20}
    write_run(tmp_path / "run", load_recipe(QUICKSTART), stages, at_once=["optim-1/explore"])
    assert read_run(tmp_path / "run").undisturbed == ("IL/explore", "optim-1/test")
    write_run(tmp_path / "both", load_recipe(QUICKSTART), stages, at_once=["IL/test", "optim-1/test"])
    assert set(read_run(tmp_path / "both").undisturbed) == set(stages)  # better than none


def test_a_teacher_that_was_never_alone_is_planned_by_what_there_is(tmp_path: Path) -> None:
    stages = {"untrained/test": 20, "IL/explore": 20, "IL/test": 20, "optim-1/explore": 30, "optim-1/test": 20}
    recipe = load_recipe(QUICKSTART)
    write_run(tmp_path / "run", recipe, stages, at_once=["IL/explore", "optim-1/explore"])
    run = read_run(tmp_path / "run")
    assert run.undisturbed == ("IL/explore", "optim-1/test")
    config = PlanConfig(recipe=QUICKSTART, measured=run.folder, core_s_a_step=WORK_S)
    assert [stage.name for stage in Planner(recipe, run, config).plan(1)] == list(stages)


def test_replicas_that_nobody_numbered_are_planned_as_many_as_there_were(tmp_path: Path) -> None:
    stages = {"untrained/test": 20, "IL/explore": 20, "IL/test": 20, "optim-1/explore": 30, "optim-1/test": 20}
    recipe = load_recipe(QUICKSTART)
    write_run(tmp_path / "run", recipe, stages)
    training = Training(num_steps=100, step_s=0.2, other_s=7.0, num_ranks=2, batch_size=2, num_epochs=1.0)
    run = read_run(tmp_path / "run")
    run = dataclasses.replace(run, seconds=run.seconds | {"IL/train": 27.0}, training={"IL": training})
    config = PlanConfig(recipe=QUICKSTART, measured=run.folder, core_s_a_step=WORK_S)
    rounds = [dataclasses.replace(each, training=dataclasses.replace(recipe.training, dp=0)) for each in recipe.rounds]
    planned, numbered = (
        {stage.name: stage.seconds for stage in Planner(each, run, config).plan(1)}["IL/train"]
        for each in (dataclasses.replace(recipe, rounds=rounds), recipe)
    )
    assert planned == numbered > 7.0


def test_a_run_that_was_started_again_has_two_attempts(run_dir: Path) -> None:
    stage = read_run(run_dir).browsing["IL/test"]
    later = []
    for episode in stage.episodes:
        steps = tuple(dataclasses.replace(step, asked_at=step.asked_at + 1000) for step in episode.steps)
        later.append(dataclasses.replace(episode, ended_at=episode.ended_at + 1000, steps=steps))
    both = dataclasses.replace(stage, episodes=(*stage.episodes, *later))
    assert [len(attempt) for attempt in both.attempts] == [200, 200]
    assert both.active_s == pytest.approx(2 * stage.active_s)


def test_the_command(run_dir: Path, tmp_path: Path) -> None:
    done = _plan(QUICKSTART, "--measured", run_dir)
    assert done.returncode == 2 and "no policy explores there" in done.stderr and done.stderr.count("\n") == 1
    recipe = tmp_path / "recipe.py"
    recipe.write_text(
        "import dataclasses\nfrom pathlib import Path\nfrom elcano.recipe import load_recipe\n"
        f"def recipe():\n    known = load_recipe(Path({str(QUICKSTART)!r}))\n"
        "    return dataclasses.replace(known, rounds=known.rounds[:1], num_test_tasks=30)\n"
    )
    many = _plan(recipe, "--measured", run_dir, "--gpus", "100001")
    assert many.returncode == 2 and "--replicas 100001: at most 100000" in many.stderr and many.stderr.count("\n") == 1
    with pytest.raises(UserError, match="--sessions 8000000 on each of 4 nodes: at most 100000 in all"):
        check_size(nodes=4, sessions=8_000_000, replicas=4)
    one = _plan(recipe, "--measured", run_dir, "--measured_cores", "2")
    assert one.returncode == 0 and all(
        word in one.stdout for word in ("untrained/test", "IL/explore", "all", "servers")
    )
    several = _plan(recipe, "--measured", run_dir, "--nodes", "1", "4", "--sessions", "5", "--tasks", "60")
    assert several.returncode == 0 and "IL/explore, by nodes" in several.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--measured", "nowhere"], "there is no such folder"),
        (["--measured", "RUN", "--stages", "IL/walk"], "has measured untrained/test, IL/explore, IL/test"),
        (["--measured", "RUN", "--nodes", "0"], "--nodes"),
        (["--measured", "RUN", "--nodes", "many"], "many"),
        (["--measured", "RUN", "--nodes", "1", "5000"], "--nodes 5000: at most 4096"),
        (["--measured", "RUN", "--nodes", "4000", "--sessions", "1000"], "at most 100000 in all"),
        (["--measured", "RUN", "--server_speed", "0"], "server_speed"),
        (["--measured", "RUN", "--server_speed", "1e-300"], "--server_speed must be 0.001 to 1000, not 1e-300"),
        (["--measured", "RUN", "--tasks", "1000000000"], "--tasks must be 0 to 1000000, not 1000000000"),
        (["--measured", "RUN", "--replicas", "1000000000"], "--replicas must be 0 to 100000, not 1000000000"),
        ([], "--measured must be given"),
    ],
)
def test_bad_input_is_one_line(words: list[str], said: str, run_dir: Path) -> None:
    done = _plan(QUICKSTART, *(run_dir if word == "RUN" else word for word in words))
    assert done.returncode == 2 and done.stdout == "" and said in done.stderr and done.stderr.count("\n") == 1


def test_a_run_that_has_not_browsed_yet_is_refused(tmp_path: Path) -> None:
    write_run(tmp_path / "run", load_recipe(QUICKSTART), {})
    with pytest.raises(UserError, match="no stage of it has browsed"):
        read_run(tmp_path / "run")


def _plan(*words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "elcano.cli", "plan", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, "COLUMNS": "200"})
