"""What a run will do, and about how long it takes on this machine: said before it begins."""

import time
from collections.abc import Mapping
from typing import Any

import numpy

from common.files import read_object
from elcano.console import duration
from elcano.recipe import Recipe, Round, count_tasks


def machine_s() -> float:
    """Seconds of this machine for a fixed piece of work, the best of three; stages measured elsewhere are scaled by
    it. It takes less than a second."""
    return min(_work() for _ in range(3))


def brief(recipe: Recipe, done: Mapping[str, float], here_s: float) -> list[str]:
    """Lines to print; `done` are the seconds by stage of what is complete, `here_s` is `machine_s()`."""
    num_tests = _num_tests(recipe)
    lines = [f"{recipe.name}: {recipe.start}, then {', '.join(round.name for round in recipe.rounds)}"]
    lines.append(f"  {recipe.start}: the starting policy is tested on {num_tests} tasks that it never trains on")
    lines += [f"  {round.name}: {_round(recipe, round)}, tested" for round in recipe.rounds]
    if recipe.reference:
        measured = read_object(recipe.reference)
        there_s = measured.get("machine_s")
        left_s = expected_s(recipe, measured, done) * (here_s / there_s if there_s else 1)
        where = "on this machine, as busy as it is now" if there_s else "on the machine where it was measured"
        lines.append(f"  about {duration(left_s)} {where}")
    return lines


def left(recipe: Recipe, done: Mapping[str, float]) -> str:
    """A line about how long the stages that are not `done` take at the pace of those that are; empty when nothing is
    left, or nobody has measured this recipe."""
    if not (recipe.reference and done):
        return ""
    measured = read_object(recipe.reference)
    left_s = expected_s(recipe, measured, done)
    expected_so_far_s = expected_s(recipe, measured, {}) - left_s
    if not left_s or not expected_so_far_s:
        return ""
    return f"about {duration(left_s * sum(done.values()) / expected_so_far_s)} left at this pace"


def expected_s(recipe: Recipe, measured: Mapping[str, Any], done: Mapping[str, float]) -> float:
    """Seconds of the stages that are not done, from those of an earlier run (a `summary.json`); a round that it did not
    have takes as long as its last one."""
    seconds, rounds = measured["seconds_per_stage"], measured["rounds"]
    tested = {entry["name"]: entry["num_tasks"] for entry in rounds}
    total = 0.0
    for number, name in enumerate([recipe.start, *(round.name for round in recipe.rounds)]):
        known = name if name in tested else rounds[-1]["name"]
        for stage, spent in seconds.items():
            of, _, kind = stage.partition("/")
            if of != known:
                continue
            spent *= _num_tests(recipe) / tested[known] if kind == "test" else 1
            again = recipe.controls and number > 1 and kind not in ("explore", "select")
            total += spent * ((f"{name}/{kind}" not in done) + (again and f"{name}-control/{kind}" not in done))
    return total


def _round(recipe: Recipe, round: Round) -> str:
    if round.trajectories and round.agent == "teacher":
        return f"the policy imitates what succeeded of {round.trajectories}"
    num_tasks = round.proposals.num_tasks if round.proposals else count_tasks(round.tasks)
    if round.agent == "teacher":
        return f"a teacher takes {num_tasks} tasks, and the policy imitates what succeeded"
    tries, algorithm = recipe.exploration.max_rerun_times, recipe.training_of(round).algorithm
    how = f", {'' if recipe.exploration.all_tries else 'up to '}{tries} tries each," if tries > 1 else ""
    learned = "from what a judge calls solved" if algorithm == "sft" else f"by {algorithm}"
    corrected = ", from what the teacher would have done in the rest" if round.corrections else ""
    imitated = recipe.rounds[0].agent == "teacher" and round.il_share > 0
    share = f"{round.il_share:.3g} of" if round.il_share < 1 else "all"
    again = f", again from {share} the teacher's samples" * imitated
    mean = f"; weights are averaged with those before ({round.before_share:.3g})" if round.before_share else ""
    tried = f"is given {round.trajectories}" if round.trajectories else f"explores {num_tasks} others{how}"
    return f"the policy {tried} and learns {learned}{corrected}{again}{mean}"


def _num_tests(recipe: Recipe) -> int:
    return recipe.num_test_tasks or count_tasks(recipe.test_tasks)


def _work() -> float:
    """Some matrix products and some Python, as training and browsing are."""
    begin = time.perf_counter()
    matrix = numpy.full((384, 384), 1 / 384, numpy.float32)
    for _ in range(40):
        matrix = matrix @ matrix
    sum(number * number for number in range(1_000_000))
    return time.perf_counter() - begin
