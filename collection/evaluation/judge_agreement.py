"""How far two judges agree on a folder of trajectories: agreement, precision, recall, Cohen's kappa.

    python collection/evaluation/judge_agreement.py --process_dir results --test_file data/tasks/test.jsonl \\
        --reference oracle --judge webvoyager --api_eval_model judge --eval_api_base http://127.0.0.1:7091/v1

Each judge's verdicts are kept in `<process_dir>/.agreement/<name>/`, so nothing is judged twice; the verdicts that the
trajectories carry are not touched. `--reference recorded` takes those as the reference. Where a person labeled some in
`elcano view`, both are compared with these labels, too. Writes agreement.json.
"""

from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from collection.config.judging import JudgeFlags
from collection.judges import Judge, judge_name
from collection.judges.judging import ask, cases, is_judge_fault
from collection.judges.named import make_judge
from common.cli import run
from common.errors import UserError
from common.files import read_json, write_json
from common.options.key_flags import hide_keys
from common.options.limits import at_least
from common.shown.tables import Table, print_table
from data.outcome import Outcome, Verdict
from data.task import Task, read_tasks
from data.trajectory import AGREEMENT, PERSON, read_outcome

DEFINITE = (Verdict.SUCCESS, Verdict.FAILURE)


@dataclass(frozen=True, kw_only=True)
class Config(JudgeFlags):
    """Flags of `judge_agreement.py`."""

    process_dir: Path
    """Folder of trajectories."""
    test_file: Path
    """The tasks they belong to."""
    reference: Literal["recorded", "oracle", "webarena", "miniwob"] = "recorded"
    """The judge to compare with: the verdicts the trajectories carry, or one that needs no model."""
    api_key: str = ""
    """Key of the judging endpoint; better set EVAL_API_KEY."""
    num_judges: Annotated[int, at_least(1)] = 8
    """Trajectories judged at the same time."""


def main(config: Config) -> None:
    """Judge with both, print the table, write agreement.json."""
    tasks = read_tasks(config.test_file)
    judge, _ = make_judge(config, config.process_dir, tasks, config.api_key)
    if judge is None:
        raise UserError("--judge none says nothing to compare; name a judge")
    reference: Judge = _recorded
    if config.reference != "recorded":
        named, _ = make_judge(JudgeFlags(judge=config.reference), config.process_dir, tasks)
        assert named is not None  # only "none" names none
        reference = named

    kept = config.process_dir / AGREEMENT

    def verdicts(case: tuple[Task, Path]) -> tuple[Verdict, Verdict, Verdict]:
        said = _kept(judge, *case, kept / judge_name(judge))
        truth = reference(*case) if config.reference == "recorded" else _kept(reference, *case, kept / "reference")
        return truth.verdict, said.verdict, _label(kept / PERSON, case[1])

    with ThreadPoolExecutor(config.num_judges) as pool:
        found = list(pool.map(verdicts, cases(config.process_dir, tasks)))
    table = agreement([(truth, said) for truth, said, _ in found])
    print_agreement(table, judge_name(judge), config.reference)
    if (kept / PERSON).is_dir():
        labeled = [agreement([(every[2], every[side]) for every in found]) for side in (1, 0)]
        table[PERSON] = dict(zip(("judge", "reference"), labeled, strict=True))
        print_agreement(labeled[0], judge_name(judge), PERSON)
        print_agreement(labeled[1], config.reference, PERSON)
    write_json(config.process_dir / "agreement.json", table)


def agreement(pairs: Sequence[tuple[Verdict, Verdict]]) -> dict[str, Any]:
    """From (reference, judge) verdicts on the same trajectories; only those that both call success or failure count.

    Returns:
        counts `num_compared, num_left_out, true_positives, false_positives, false_negatives, true_negatives` and the
        shares `agreement, precision, recall, kappa`; a share of nothing is None. A positive is a success.
    """
    counts = Counter((truth, said) for truth, said in pairs if truth in DEFINITE and said in DEFINITE)
    yes, no = DEFINITE
    both, wrong, missed, neither = counts[yes, yes], counts[no, yes], counts[yes, no], counts[no, no]
    total = both + wrong + missed + neither
    by_chance = _ratio((both + wrong) * (both + missed) + (neither + wrong) * (neither + missed), total**2)
    agreed = _ratio(both + neither, total)
    kappa = None if agreed is None or by_chance is None or by_chance == 1 else (agreed - by_chance) / (1 - by_chance)
    return {
        "num_compared": total,
        "num_left_out": len(pairs) - total,
        "true_positives": both,
        "false_positives": wrong,
        "false_negatives": missed,
        "true_negatives": neither,
        "agreement": agreed,
        "precision": _ratio(both, both + wrong),
        "recall": _ratio(both, both + missed),
        "kappa": kappa,
    }


def print_agreement(table: dict[str, Any], judge: str, reference: str) -> None:
    """To standard output."""
    printed = Table([], [*table], title=f"{judge} against {reference}")
    printed.add(
        *(
            "-" if value is None else f"{value:.3f}" if isinstance(value, float) else str(value)
            for value in table.values()
        )
    )
    print_table(printed)


def _kept(judge: Judge, task: Task, folder: Path, kept: Path) -> Outcome:
    """The judge's verdict, from an earlier run of this command where there is one; its faults are `invalid`."""
    path = kept / f"{folder.name}.json"
    if path.exists():
        return Outcome.from_json(read_json(path))
    outcome = ask(judge, task, folder)
    if not is_judge_fault(outcome):
        write_json(path, outcome.to_json())
    return outcome


def _recorded(task: Task, folder: Path) -> Outcome:
    """The verdict a trajectory carries; invalid when it has none."""
    return read_outcome(folder) or Outcome(Verdict.INVALID, "not judged")


def _label(labels: Path, folder: Path) -> Verdict:
    """A person's; invalid where there is none."""
    path = labels / f"{folder.name}.json"
    return Outcome.from_json(read_json(path)).verdict if path.exists() else Verdict.INVALID


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None


if __name__ == "__main__":
    hide_keys("EVAL_API_KEY")
    run(Config, main, description="Compare two judges.")
