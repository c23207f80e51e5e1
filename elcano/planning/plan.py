"""The stages of a recipe on machines that it has not run on, each with its seconds."""

import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path

from collection.campaign.pacing import site_of
from common.errors import UserError
from common.processes import num_cores
from data.task import Task, read_tasks
from elcano.planning.measured import FOLDERS, MeasuredRun
from elcano.planning.options import PlanConfig, check_size
from elcano.planning.simulation import Collected, Setting, simulate
from elcano.planning.speeds import ServerSpeed, StageSpeed, fit
from elcano.recipe import Recipe, Round, files
from environments.browser.capacity import BUSY_PAGES_PER_CORE, SESSIONS_PER_CORE

_ALIKE = {"hf2mg", "mg2hf", "average"}
"""Conversions of weights take as long however many tasks there are; other commands in between, in proportion."""


@dataclasses.dataclass(frozen=True)
class PlannedStage:
    """A stage that browses has a simulation, and what was simulated."""

    name: str
    seconds: float
    collected: Collected | None = None
    setting: Setting | None = None
    speed: StageSpeed | None = None
    num_sites: int = 0


class Planner:
    """A recipe, and how fast things were where they were measured.

    Raises:
        UserError: the recipe has an agent that nothing was measured of.
    """

    def __init__(self, recipe: Recipe, run: MeasuredRun, config: PlanConfig):
        self.recipe, self.run, self.config = recipe, run, config
        if offline := [round.name for round in recipe.rounds if round.trajectories]:
            raise UserError(f"recipe {recipe.name}: {offline[0]} explores nothing, which cannot be planned yet")
        self._cores = config.measured_cores or num_cores()
        speeds = fit(run, config.stages or run.undisturbed, self._cores, config.core_s_a_step)
        self._speeds = {name: _faster(speed, config.server_speed) for name, speed in speeds.items()}

    def plan(self, nodes: int) -> Iterator[PlannedStage]:
        """Each stage in its order, as it would go on so many nodes."""
        tests = self._tasks(self.recipe.test_tasks)[: self.recipe.num_test_tasks]
        names = [(self.recipe.start, None), *((round.name, round) for round in self.recipe.rounds)]
        for number, (name, round) in enumerate(names):
            known = self._known(name, round)
            for kind in self._kinds(known) if round else ["test"]:
                yield self._stage(f"{name}/{kind}", f"{known}/{kind}", round, tests, nodes)
            if self.recipe.controls and number > 1:
                for kind in self._kinds(known):
                    if kind not in ("explore", "correct", "select"):
                        yield self._stage(f"{name}-control/{kind}", f"{known}/{kind}", round, tests, nodes)
        if self.recipe.looks and self.recipe.rounds:
            for hidden in ("gray", "no_tree"):
                yield self._stage(f"{name}-{hidden}/test", f"{known}/test", round, tests, nodes)

    def explore(self, nodes: int) -> PlannedStage:
        """The recipe's last exploration by a policy, or else its last one, on so many nodes."""
        rounds = [round for round in self.recipe.rounds if round.agent == "policy"] or self.recipe.rounds
        if not rounds:
            raise UserError(f"recipe {self.recipe.name}: it explores nothing; give one number of --nodes")
        name = rounds[-1].name
        return self._stage(f"{name}/explore", f"{self._known(name, rounds[-1])}/explore", rounds[-1], (), nodes)

    def _known(self, name: str, round: Round | None) -> str:
        """The measured round that this one is like: of the same name, or else the last one with the same agent."""
        names = [stage.partition("/")[0] for stage in self.run.browsing]
        if name in names or round is None:
            return name if name in names else names[0]
        explored = [stage for stage in self.run.browsing.values() if stage.name.endswith("/explore")]
        like = [stage.name.partition("/")[0] for stage in explored if stage.agent == round.agent]
        if not like:
            raise UserError(
                f"--measured {self.run.folder}: no {round.agent} explores there, but one does in {name} of "
                f"{self.config.recipe}; give a run that has such a round"
            )
        return like[-1]

    def _kinds(self, known: str) -> list[str]:
        stages = (stage.partition("/") for stage in self.run.seconds)
        kinds = [kind for name, _, kind in stages if name == known]
        return sorted(kinds, key=lambda kind: kind == "test")  # a run that tests more later finishes tests last

    def _stage(self, name: str, known: str, round: Round | None, tests: Sequence[Task], nodes: int) -> PlannedStage:
        kind, of = name.partition("/")[2], known.partition("/")[0]
        if kind in FOLDERS:
            tasks = tests if kind == "test" else self._explored(round)
            return self._browse(name, known, tasks, self.setting(name, round, nodes))
        if kind == "train" and of in self.run.training:
            return PlannedStage(name, self._train_s(round, of))
        seconds = self.run.seconds[known]
        return PlannedStage(name, seconds if kind in _ALIKE else seconds * self._growth(round, of))

    def _browse(self, name: str, known: str, tasks: Sequence[Task], setting: Setting) -> PlannedStage:
        if known not in self.run.browsing:
            raise UserError(f"--measured {self.run.folder}: {known}, which {name} is like, is not complete there")
        if known not in self._speeds:
            agent = self.run.browsing[known].agent
            raise UserError(f"--stages: none of these is of a {agent}, as {known} is; add one")
        speed = self._speeds[known]
        collected = simulate(tasks, speed, setting)
        sites = {site_of(task) for task in tasks}
        return PlannedStage(name, collected.seconds + speed.start_s, collected, setting, speed, len(sites))

    def setting(self, name: str, round: Round | None, nodes: int) -> Setting:
        """How a stage that browses is set up on so many nodes."""
        recipe, config = self.recipe, self.config
        explores = name.endswith("/explore")
        how = (recipe.teacher if round.agent == "teacher" else recipe.exploration) if explores else recipe.testing
        cores, serving = config.cores or self._cores, recipe.serving
        of_each = config.sessions or how.num_sessions or SESSIONS_PER_CORE * cores
        replicas = config.replicas or nodes * (config.gpus or serving.replicas)
        check_size(nodes, of_each, replicas)
        sessions, is_taught = nodes * of_each, explores and round.agent == "teacher"
        return Setting(
            nodes=nodes,
            cores=cores,
            sessions=sessions,
            seats=how.max_busy_pages or BUSY_PAGES_PER_CORE * cores,
            replicas=1 if is_taught else replicas,
            max_batch_size=sessions if is_taught else serving.max_batch_size,
            max_queue=0 if is_taught else serving.max_queue,
            tries=how.max_rerun_times if explores else 1,
            all_tries=explores and how.all_tries,
            site_concurrency=how.site_concurrency,
            site_interval_s=how.site_interval_s,
            collector_s_a_step=config.collector_ms_a_step / 1000,
            driver_mb_s=config.driver_mb_s if nodes > 1 else 0.0,
        )

    def _explored(self, round: Round) -> list[Task]:
        tasks = self._tasks(round.tasks)
        wanted = self.config.tasks or (round.proposals.num_tasks if round.proposals else len(tasks))
        return [dataclasses.replace(tasks[number % len(tasks)], id=f"planned--{number}") for number in range(wanted)]

    def _tasks(self, paths: Path | tuple[Path, ...]) -> list[Task]:
        return [task for path in files(paths) for task in read_tasks(path)]

    def _growth(self, round: Round | None, of: str) -> float:
        """How many times as many tasks the round explores as the measured one did."""
        measured = self.run.browsing.get(f"{of}/explore")
        return len(self._explored(round)) / measured.num_tasks if round and measured else 1.0

    def _train_s(self, round: Round, of: str) -> float:
        """As many passes over as many samples a task, each rank as fast as it was."""
        known, options = self.run.training[of], self.recipe.training_of(round)
        batch_size = options.global_batch_size
        num_ranks = options.tp * options.pp * options.cp * options.dp or known.num_ranks  # dp 0: as many as fit
        passes = options.train_epochs / known.num_epochs if known.num_epochs else 1.0
        samples = known.num_steps * known.batch_size * passes * self._growth(round, of)
        num_steps = samples / batch_size if options.train_epochs else options.train_iters
        step_s = known.step_s * (batch_size / known.batch_size) * (known.num_ranks / num_ranks)
        return known.other_s + num_steps * step_s / self.config.training_speed


def _faster(speed: StageSpeed, times: float) -> StageSpeed:
    """With a server so many times as fast, where it is ours."""
    if speed.agent == "teacher":
        return speed
    server = ServerSpeed(speed.server.fixed_s / times, speed.server.each_s / times)
    return dataclasses.replace(speed, server=server)
