"""What `blocked` counts as: nothing of the agent's, in every table, for every judge and for all that makes samples."""

import json
from pathlib import Path
from typing import Any

import pytest

from collection.campaign.accounting import print_status, states
from collection.evaluation.summary import explored, print_explored, print_summary, summarise
from collection.judges import oracle, rewards
from collection.judges.endpoint.endpoint import Endpoint
from collection.judges.noisy import NoisyJudge
from collection.judges.reward_model import RewardModelJudge
from collection.judges.step_judge import StepJudge
from collection.judges.verdict_judge import VerdictJudge
from collection.judges.webarena import WebArenaJudge
from collection.proposers.sources import from_demos, from_failures
from common.errors import UserError
from common.significance import wilson
from data.outcome import Verdict
from data.task import Task
from data.trajectory import BLOCKED, FINISHED, INVALID, read_trajectory
from elcano.report import Result, mean_of, print_table
from tests.toolkits.trajectories import write_trajectory
from toolkits.convert_trajectories_to_json import Config, main, sort_out
from toolkits.make_reward_model_data import make_sample
from toolkits.trajectories.rollouts import read_rollouts
from viewer.catalog.heads import read_head
from viewer.runs import count

TRUTH = {"eval_types": ["string_match"], "reference_answers": {"must_include": ["blue"]}}
TASKS = [Task(f"Shop--{number}", "Find a shoe.", "http://shop.test/", eval=TRUTH) for number in range(1, 6)]


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Solved, failed, blocked, blocked of which an older judge said failure, and never tried."""
    folder = tmp_path / "results"
    write_trajectory(folder, "Shop--1")
    write_trajectory(folder, "Shop--2", verdict=Verdict.FAILURE)
    write_trajectory(folder, "Shop--3", num_steps=2, status=BLOCKED, verdict=Verdict.BLOCKED)
    write_trajectory(folder, "Shop--4", num_steps=1, status=BLOCKED, verdict=Verdict.FAILURE)
    return folder


def test_it_is_in_no_rate_and_has_a_column_of_its_own(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    summary = summarise(results, TASKS)
    assert (summary["success_rate"], summary["interval"]) == (1 / 3, wilson(1 / 3, 3))
    counts = {"num_tasks": 5, "num_blocked": 2, "num_invalid": 0, "num_missing": 1}
    assert counts.items() <= summary.items()
    assert summary["outcomes"] == {"Shop--1": True, "Shop--2": False, "Shop--5": False}
    assert summary["mean_steps"] == 4.0
    print_summary(summary)
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split() == "site success solved tasks blocked invalid missing unjudged steps".split()
    assert lines[3].split() == "shop.test 33.3% 1 5 2 0 1 0 4.0".split()
    print_status(results)
    assert {task: state for task, (_, state) in states(results).items()} == {
        **{"Shop--1": "solved", "Shop--2": "failed", "Shop--3": "blocked", "Shop--4": "blocked"}
    }


@pytest.mark.parametrize("ends", [[BLOCKED], [INVALID, BLOCKED], [BLOCKED, INVALID], [BLOCKED, BLOCKED]])
def test_only_walls_make_no_rate(tmp_path: Path, ends: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    for run, end in enumerate(ends):
        write_trajectory(tmp_path, "Shop--1", run=run, status=end, verdict=None)
    summary = summarise(tmp_path, TASKS[:1])
    assert (summary["num_blocked"], summary["num_invalid"], summary["outcomes"]) == (1, 0, {})
    table = explored(tmp_path, TASKS[:1], len(ends))
    assert (table["num_tasks"], table["num_blocked"]) == (0, 1)
    print_summary(summary)
    print_explored(table)
    said = capsys.readouterr().out
    assert "0.0%" not in said.splitlines()[3] and "blocked" in said and "of tasks like these" not in said


@pytest.mark.parametrize("others", [[Verdict.FAILURE], [Verdict.SUCCESS, Verdict.INVALID]])
def test_a_try_that_tells_of_the_agent_counts(tmp_path: Path, others: list[Verdict]) -> None:
    write_trajectory(tmp_path, "Shop--1", run=0, status=BLOCKED, verdict=Verdict.BLOCKED)
    for run, verdict in enumerate(others, start=1):
        write_trajectory(tmp_path, "Shop--1", run=run, verdict=verdict)
    summary = summarise(tmp_path, TASKS[:1])
    assert (summary["num_blocked"], summary["outcomes"]) == (0, {"Shop--1": Verdict.SUCCESS in others})


def test_what_cannot_be_done_is_no_failure_either(tmp_path: Path) -> None:
    write_trajectory(tmp_path, "Shop--1", verdict=Verdict.INFEASIBLE)
    write_trajectory(tmp_path, "Shop--2")
    summary = summarise(tmp_path, TASKS[:2])
    assert (summary["success_rate"], summary["num_infeasible"]) == (1.0, 1)


class Unasked(Endpoint):
    """Where no judge may ask."""

    def __init__(self) -> None:
        object.__setattr__(self, "model", "m")

    def ask(self, *_: Any, **__: Any) -> Any:
        raise AssertionError("a judge was asked about a trajectory of a wall")


JUDGES = {
    "oracle": oracle.judge,
    "miniwob": rewards.miniwob,
    "finished": rewards.finished,
    "webvoyager": VerdictJudge("webvoyager", Unasked(), "p"),
    "digirl": StepJudge(Unasked()),
    "webarena": WebArenaJudge(Unasked()),
    "reward model": RewardModelJudge("http://127.0.0.1:9/score"),
    "one that errs": NoisyJudge(oracle.judge, 1.0),
}


@pytest.mark.parametrize("name", JUDGES)
@pytest.mark.parametrize("number", [3, 4])
def test_every_judge_says_so_unasked(results: Path, name: str, number: int) -> None:
    outcome = JUDGES[name](TASKS[number - 1], results / f"taskShop--{number}")
    assert outcome.verdict is Verdict.BLOCKED


@pytest.mark.parametrize(
    "flags", [{}, {"keep_unfinished": True}, {"only_judged": True}, {"corrected": True, "only_success": True}]
)
def test_no_sample_is_made_of_it(
    results: Path, tmp_path: Path, flags: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    write_trajectory(results, "Shop--5", status=FINISHED, verdict=Verdict.BLOCKED)  # as others' collectors may
    main(Config(str(results), str(tmp_path / "images"), str(tmp_path / "samples.json"), **dict.fromkeys(flags, True)))
    ids = {sample["id"][:11] for sample in json.loads((tmp_path / "samples.json").read_text())}
    assert ids <= {"Shop--00001", "Shop--00002"} and "Shop--00001" in ids
    assert "blocked" in capsys.readouterr().out
    assert [sort_out(results / f"taskShop--{n}", False)[0] for n in (3, 4, 5)] == ["blocked"] * 3
    assert [make_sample(results / f"taskShop--{n}", n, tmp_path) for n in (3, 4, 5)] == [None] * 3
    assert [rollout is None for rollout in read_rollouts(results, tmp_path, 1, 3)] == [False, False, True, True, True]


def test_nothing_is_proposed_of_it_and_no_share_counts_it(results: Path) -> None:
    assert read_trajectory(results / "taskShop--4").outcome.verdict is Verdict.BLOCKED
    with pytest.raises(UserError, match="no task of --seed_files failed"):
        from_failures([TASKS[2], TASKS[3]], results, 1)
    assert len(from_failures(TASKS, results, 1)) == 1
    heads = [read_head(folder) for folder in sorted(results.iterdir())]
    counted = count(heads)
    assert counted["outcomes"] == {"success": 1, "failure": 1, "blocked": 2}
    assert (counted["num_tasks"], counted["rate"]) == (2, 0.5)


def test_demonstrations_of_walls_are_none(tmp_path: Path) -> None:
    write_trajectory(tmp_path, "Shop--1", status=BLOCKED, verdict=Verdict.BLOCKED)
    with pytest.raises(UserError, match="no complete demonstration"):
        from_demos(tmp_path, 1, 1)


def test_a_run_reports_it_beside_the_rate(capsys: pytest.CaptureFixture[str]) -> None:
    result = Result("IL", 0.5, 10, 2, 2, 3.0, num_blocked=4)
    assert result.interval == wilson(0.5, 4)
    assert (mean_of([result, result]).num_blocked, mean_of([result, result]).interval) == (8, wilson(0.5, 4))
    print_table([result], {})
    said = capsys.readouterr().out.split()
    assert said.index("blocked") < said.index("invalid")
