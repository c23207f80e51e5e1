"""Many episodes on real applications at the same time: does any see another's state, and what do they cost?

    python -m benchmarks.apps --num_sessions 16 --num_episodes 500 --output apps.json
    python -m benchmarks.apps --num_sessions 1 --num_episodes 200 --env_tasks trac     # one server, 200 times put back

The scripted expert plays. An episode is clean where its server, as it ends, holds what the task asked for and nothing
else: the changes of another would be found there, also those of the episode before. At the end each server is put back
once more, and its logical dump is compared with the seed's. Seconds mean little where other work runs; memory and
shares of CPU time do not depend on it.
"""

import asyncio
import dataclasses
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import psutil

from benchmarks import usage
from benchmarks.figures import Load, watched
from common import cli
from common.files import write_json
from common.options.limits import Checked, above, at_least
from common.reaper import scratch
from common.shown.tables import Table, print_table
from data.conversation import StepText, build_chat
from data.task import Task
from environments.apps.changes import digest
from environments.apps.expert.expert import reply
from environments.apps.server import Server
from environments.apps.world import AppEnvironment, World, installed_apps
from environments.browser.config import BrowserConfig
from environments.environment import Open, respond
from environments.faults import BrowserError, PageError
from environments.sites.expert.reading import NotUnderstoodError

MAX_STEPS = 20
SAMPLE_S = 5.0


@dataclasses.dataclass(frozen=True)
class Config(Checked):
    """Have the expert play, in many sessions, and watch."""

    num_sessions: Annotated[int, at_least(1)] = 16
    """Episodes at the same time."""
    num_episodes: Annotated[int, at_least(1)] = 500
    """Episodes to take, of all templates in turn."""
    minutes: Annotated[float, above(0)] = 120.0
    """Begin no further episode after this time."""
    env_tasks: tuple[str, ...] = ()
    """Only these applications or templates; none: all that are installed."""
    output: Path = Path("apps.json")
    """A JSON file for the numbers."""


@dataclasses.dataclass
class Seen:
    """What came of it.

    `faults`: by task, why an episode was not clean. `invalid`: what ended one that says nothing of the application,
    such as a browser too slow to answer; it is in no other count.
    """

    episodes: Counter[str] = dataclasses.field(default_factory=Counter)
    faults: dict[str, str] = dataclasses.field(default_factory=dict)
    invalid: dict[str, str] = dataclasses.field(default_factory=dict)
    steps: int = 0
    seconds: float = 0.0
    servers: set[Server] = dataclasses.field(default_factory=set)
    most_mb: Counter[str] = dataclasses.field(default_factory=Counter)
    cpu_s: dict[int, tuple[str, float]] = dataclasses.field(default_factory=dict)
    """Kind and seconds of each process, as they were last seen."""
    unlike_seed: list[str] = dataclasses.field(default_factory=list)
    num_compared: int = 0


def main(config: Config) -> int:
    """Play, print, write; 1 where a state was not as it should be."""
    names = config.env_tasks or tuple(app.name for app in installed_apps())
    num_seeds = 1 + config.num_episodes // len(names)
    world = World(BrowserConfig(visibility="complete"), env_tasks=names, env_seeds=tuple(range(num_seeds)))
    with watched(1) as load, world.serve():
        seen = asyncio.run(_play(config, world))
    _write(config, seen, load)
    _print(seen, load)
    return int(bool(seen.faults or seen.unlike_seed or not seen.episodes))


async def _play(config: Config, world: World) -> Seen:
    tasks, seen = in_turn(await world.tasks(), config.num_episodes), Seen()
    end = time.monotonic() + 60 * config.minutes
    async with world.environments(tasks, config.num_sessions) as open_environment:
        watching = asyncio.create_task(_watch(seen))
        left, begin = iter(tasks), time.monotonic()
        with scratch("elcano-downloads-") as folder:
            sessions = (
                _session(number, open_environment, world, left, end, folder, seen)
                for number in range(config.num_sessions)
            )
            await asyncio.gather(*sessions)
        seen.seconds = time.monotonic() - begin
        watching.cancel()
        for server in seen.servers:
            if server.alive:  # one that could not be put back was ended, and counts as one more that started
                await asyncio.to_thread(_compare, server, seen)
    return seen


def in_turn(tasks: list[Task], count: int) -> list[Task]:
    """The first ones of each template, then the second ones, and so on."""
    return sorted(tasks, key=lambda task: int(task.id.rpartition("--")[2]))[:count]


async def _session(
    number: int, open_environment: Open, world: World, left: Iterator[Task], end: float, folder: Path, seen: Seen
) -> None:
    for task in left:
        if time.monotonic() > end:
            return
        try:
            environment = await open_environment(number, folder / task.id)
            assert isinstance(environment, AppEnvironment)
            async with environment:
                fault = await _episode(environment, world, task, seen)
        except NotUnderstoodError as error:
            fault = str(error)
        except (BrowserError, PageError) as error:
            seen.invalid[task.id] = str(error)
            continue
        seen.episodes[task.id.partition(".")[0]] += 1
        if fault:
            seen.faults[task.id] = fault


async def _episode(environment: AppEnvironment, world: World, task: Task, seen: Seen) -> str:
    """Why it was not clean, or ""."""
    await environment.reset(task)
    assert environment.server is not None
    seen.servers.add(environment.server)
    now = await environment.observe()
    steps = [StepText(now.tree)]
    for _ in range(MAX_STEPS):
        said = reply(build_chat("", task.ques, task.web, steps, last_n=1))
        response = await respond(environment, said, now)
        seen.steps += 1
        if response.answer is not None:
            state = await environment.final_state()
            changed = {name: state["final_state"][name] for name in ("added", "removed")}
            return "" if world.reward(task, response.answer, state) else f"answer {response.answer!r}, {changed}"
        now = await environment.observe()
        told = StepText(now.tree, response.feedback, notes=response.notes)
        steps = [*steps[:-1], dataclasses.replace(steps[-1], reply=said), told]
    return f"no end after {MAX_STEPS} steps"


def _compare(server: Server, seen: Seen) -> None:
    server.restore()
    seen.num_compared += 1
    if digest(server.app.records(server.state)) != server.app.digest:
        seen.unlike_seed.append(server.app.name)


async def _watch(seen: Seen) -> None:
    """Memory and CPU time, until it is cancelled."""
    while True:
        groups = {server.group for server in seen.servers}
        memory: Counter[str] = await asyncio.to_thread(_look, groups, seen)
        seen.most_mb = max(seen.most_mb, memory, key=Counter.total)
        await asyncio.sleep(SAMPLE_S)


def _look(groups: set[int], seen: Seen) -> Counter[str]:
    memory: Counter[str] = Counter()
    for process in usage.processes():
        try:
            kind = _kind(process, groups)
            times = process.cpu_times()
            ended = times.children_user + times.children_system if kind == "applications" else 0.0
            seen.cpu_s[process.pid] = kind, times.user + times.system + ended
            memory[kind] += process.memory_full_info().pss / 2**20
        except psutil.Error:  # it has just ended
            continue
    return memory


def _kind(process: psutil.Process, groups: set[int]) -> str:
    if process.name().startswith("chrom"):
        return "browsers"
    return "applications" if {process.pid, process.ppid()} & groups else "ours"


def cpu_by_kind(seen: Seen) -> Counter[str]:
    """Seconds."""
    seconds: Counter[str] = Counter()
    for kind, each in seen.cpu_s.values():
        seconds[kind] += each
    return seconds


def _write(config: Config, seen: Seen, load: Load) -> None:
    write_json(
        config.output,
        {
            "num_sessions": config.num_sessions,
            "episodes": dict(seen.episodes),
            "faults": seen.faults,
            "invalid": seen.invalid,
            "steps": seen.steps,
            "seconds": round(seen.seconds, 1),
            "servers": dict(Counter(server.app.name for server in seen.servers)),
            "compared": seen.num_compared,
            "unlike_seed": seen.unlike_seed,
            "most_mb": {kind: round(each) for kind, each in seen.most_mb.items()},
            "cpu_s": {kind: round(each, 1) for kind, each in cpu_by_kind(seen).items()},
            "load": dataclasses.asdict(load),
        },
    )


def _print(seen: Seen, load: Load) -> None:
    table = Table(("application",), ("episodes", "not clean", "invalid", "servers"))
    servers = Counter(server.app.name for server in seen.servers)
    for name, count in sorted(seen.episodes.items()):
        bad = (str(sum(task.startswith(f"{name}.") for task in tasks)) for tasks in (seen.faults, seen.invalid))
        table.add(name, str(count), *bad, str(servers[name]))
    print_table(table)
    for task, fault in (seen.faults | seen.invalid).items():
        print(f"{task}: {fault}")
    cpu = cpu_by_kind(seen)
    print(f"{seen.steps} steps in {seen.seconds:.0f} s; {seen.num_compared} servers compared with their seeds")
    for kind in sorted(cpu):
        print(f"{kind}: {cpu[kind] / cpu.total():.0%} of CPU time, {seen.most_mb[kind]:.0f} MB at the fullest moment")
    print(load)


if __name__ == "__main__":
    cli.run(Config, main, description=__doc__)
