"""How fast a machine does the parts of a step, fitted to what a run measured; docs/planning.md has the formulas.

A page's part is a delay, which takes as long on any machine (the website, timers, the browser's own waiting), and work,
which the node's cores share. A reply is work for a server whose speed depends on how many it computes at once.
"""

import dataclasses
import random
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

import numpy

from common.errors import UserError
from elcano.planning.episodes import Episode, intact, span_s
from elcano.planning.measured import Browsing, MeasuredRun

_MOST_LOAD = 0.9  # of the cores; beyond it the formula for sharing says "for ever"


@dataclasses.dataclass(frozen=True)
class ServerSpeed:
    """n replies that are computed together take `fixed_s + each_s * n` seconds."""

    fixed_s: float
    each_s: float

    def replies_per_s(self, n: float) -> float:
        """Of one server that computes n at once."""
        return n / (self.fixed_s + self.each_s * n)

    @property
    def alone_s(self) -> float:
        """Seconds of a mean reply when nobody else asks."""
        return self.fixed_s + self.each_s


@dataclasses.dataclass(frozen=True)
class Part:
    """A page that opens, is observed or acts: seconds that nothing shortens, and seconds of a core."""

    delay_s: float
    work_s: float


@dataclasses.dataclass(frozen=True)
class StepCost:
    """`reply` is the server's work, 1 on average."""

    observe: Part
    act: Part
    reply: float


@dataclasses.dataclass(frozen=True)
class EpisodeCost:
    """A trajectory to draw, of a task on the website `host`."""

    host: str
    open: Part
    steps: tuple[StepCost, ...]
    success: bool


@dataclasses.dataclass(frozen=True)
class StageSpeed:
    """What a stage's trajectories cost."""

    stage: str
    agent: str
    episodes: tuple[EpisodeCost, ...]
    server: ServerSpeed
    start_s: float
    """Before the first page and after the last: servers and browsers that start, the table at the end."""
    mb_a_step: float
    """Of the trajectory's folder."""

    @property
    def num_steps(self) -> int:
        return sum(len(episode.steps) for episode in self.episodes)

    def a_step(self) -> Part:
        """The mean of a step's page, with its share of opening."""
        parts = [part for episode in self.episodes for part in (episode.open, *_pages(episode))]
        delay_s, work_s = (sum(getattr(part, name) for part in parts) for name in ("delay_s", "work_s"))
        return Part(delay_s / self.num_steps, work_s / self.num_steps)


def host_of(web: str) -> str:
    """The website that an address is of, whatever its port."""
    return urlsplit(web).hostname or ""


def fit(run: MeasuredRun, stages: Sequence[str], cores: int, core_s_a_step: float = 0.0) -> dict[str, StageSpeed]:
    """Speeds by stage of all that browsed, from the times of `stages` alone, on one machine with so many cores. A stage
    that is none of these keeps its trajectories' lengths and outcomes, with steps drawn from those of the same agent.

    `core_s_a_step`: seconds of a core that a step's page takes; 0: as much as the busiest of the stages leaves, which
    is right where that stage kept all cores busy, and else too much.

    Raises:
        UserError: a stage is none that browsed.
    """
    for stage in stages:
        if stage not in run.browsing:
            raise UserError(f"--stages {stage}: {run.folder} has measured {', '.join(run.browsing)}")
    chosen = [run.browsing[stage] for stage in stages]
    servers = {agent: _fit_server(run, agent, chosen) for agent in {stage.agent for stage in chosen}}
    work_s = core_s_a_step or cores / max(map(_steps_per_s, chosen))
    quietest = min(chosen, key=_steps_per_s)
    load = min(_MOST_LOAD, _steps_per_s(quietest) * work_s / cores)
    delay_s = max(0.0, _page_s(quietest) - work_s / (1 - load**cores))
    fitted = {stage.name: _fit_stage(run, stage, servers[stage.agent], delay_s, work_s) for stage in chosen}
    for stage in run.browsing.values():
        if stage.name not in fitted and stage.agent in servers:
            fitted[stage.name] = _lend(stage, [fitted[of.name] for of in chosen if of.agent == stage.agent])
    return fitted


def _fit_stage(run: MeasuredRun, stage: Browsing, server: ServerSpeed, delay_s: float, work_s: float) -> StageSpeed:
    """Each measured time is split as the stage's mean is; sharing the cores had stretched its work."""
    mean_s = _page_s(stage)
    delay_share = min(1.0, delay_s / mean_s)
    stretch = max(1.0, (mean_s - delay_s) / work_s)

    def part(measured_s: float) -> Part:
        return Part(measured_s * delay_share, measured_s * (1 - delay_share) / stretch)

    episodes = []
    for attempt in stage.attempts:
        replies = iter(_reply_work(attempt, server, *_batching(run, stage.agent)))
        for episode in attempt:
            steps = tuple(StepCost(part(step.observe_s), part(step.act_s), next(replies)) for step in episode.steps)
            episodes.append(EpisodeCost(host_of(episode.web), part(episode.open_s), steps, episode.success))
    start_s = max(0.0, stage.seconds - span_s(stage.attempts[-1]))
    mb_a_step = sum(episode.num_bytes for episode in stage.episodes) / stage.num_steps / 1e6
    return StageSpeed(stage.name, stage.agent, tuple(episodes), server, start_s, mb_a_step)


def _lend(stage: Browsing, lenders: Sequence[StageSpeed]) -> StageSpeed:
    """A stage's trajectories with steps of other stages; its start and its megabytes are their mean."""
    chance = random.Random(stage.name)
    drawn = [episode for lender in lenders for episode in lender.episodes]
    steps = [step for episode in drawn for step in episode.steps]
    episodes = []
    for episode in stage.episodes:
        lent = tuple(chance.choices(steps, k=len(episode.steps)))
        episodes.append(EpisodeCost(host_of(episode.web), chance.choice(drawn).open, lent, episode.success))
    start_s, mb_a_step = (
        sum(getattr(lender, name) for lender in lenders) / len(lenders) for name in ("start_s", "mb_a_step")
    )
    return StageSpeed(stage.name, stage.agent, tuple(episodes), lenders[0].server, start_s, mb_a_step)


def _fit_server(run: MeasuredRun, agent: str, stages: Sequence[Browsing]) -> ServerSpeed:
    """The likeliest speed, when replies end at random at the rate of those that are computed together."""
    seconds, replies = numpy.zeros(1), numpy.zeros(1)
    replicas, most = _batching(run, agent)
    for stage in stages:
        if stage.agent == agent:
            for attempt in stage.attempts:
                times, changes = _under_way(attempt)
                together = numpy.cumsum(changes)[:-1]
                size = max(len(seconds), together.max() + 1)
                seconds, replies = (numpy.pad(array, (0, size - len(array))) for array in (seconds, replies))
                numpy.add.at(seconds, together, numpy.diff(times))
                numpy.add.at(replies, together[changes[1:] < 0], 1)
    computed = numpy.minimum(numpy.arange(1, len(seconds)) / replicas, most or numpy.inf)
    seconds, replies = seconds[1:], replies[1:]
    best, speed = -numpy.inf, ServerSpeed(0.0, 1.0)
    for fixed in numpy.geomspace(1e-3, 1e3, 400):  # in units of what one more reply costs
        shape = replicas * computed / (fixed + computed)
        each_s = (seconds @ shape) / replies.sum()
        rate = shape / each_s
        likelihood = replies @ numpy.log(rate) - seconds @ rate
        if likelihood > best:
            best, speed = likelihood, ServerSpeed(float(fixed * each_s), float(each_s))
    return speed


def _reply_work(attempt: Sequence[Episode], server: ServerSpeed, replicas: int, most: int | None) -> list[float]:
    """Of each step: what share of a mean reply the server got done while it was asked."""
    times, changes = _under_way(attempt)
    together = numpy.maximum(1, numpy.cumsum(changes))[:-1] / replicas
    computed = numpy.minimum(numpy.maximum(1, together), most or numpy.inf)
    speed = computed / together / (server.fixed_s + server.each_s * computed)
    done = numpy.concatenate([[0.0], numpy.cumsum(speed * numpy.diff(times))])
    asked = [(step.asked_at, step.asked_at + step.reply_s) for episode in attempt for step in episode.steps]
    begins, ends = numpy.array(asked).T
    return (numpy.interp(ends, times, done) - numpy.interp(begins, times, done)).tolist()


def _under_way(attempt: Sequence[Episode]) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Moments (s) in order at which a request goes out (+1) or its reply comes (-1)."""
    steps = [step for episode in attempt for step in episode.steps]
    times = numpy.array([step.asked_at for step in steps] + [step.asked_at + step.reply_s for step in steps])
    changes = numpy.repeat([1, -1], len(steps))
    order = numpy.lexsort((-changes, times))
    return times[order], changes[order]


def _batching(run: MeasuredRun, agent: str) -> tuple[int, int | None]:
    """Replicas of the measured server, and how many replies each computes at once; of a teacher's nothing is known."""
    with intact(run.folder / "recipe.json"):
        serving: dict[str, Any] = run.recipe["serving"]
        return (serving["replicas"], serving["max_batch_size"]) if agent == "policy" else (1, None)


def _steps_per_s(stage: Browsing) -> float:
    return stage.num_steps / stage.active_s


def _page_s(stage: Browsing) -> float:
    """Mean seconds a step that its page is busy, with its share of opening."""
    opening = sum(episode.open_s for episode in stage.episodes)
    steps = [step for episode in stage.episodes for step in episode.steps]
    return (opening + sum(step.observe_s + step.act_s for step in steps)) / len(steps)


def _pages(episode: EpisodeCost) -> list[Part]:
    return [part for step in episode.steps for part in (step.observe, step.act)]
