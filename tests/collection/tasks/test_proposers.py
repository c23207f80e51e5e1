"""Proposers: what they are shown, what they write, and what the filters catch. The model is the embedded stand-in."""

import dataclasses
import json
from pathlib import Path

import pytest

from collection import propose_tasks
from collection.config.proposals import ProposalsConfig
from collection.proposers.filters import critic_window
from collection.proposers.leaks import TestSplit
from collection.proposers.parsing import parse_proposals
from collection.proposers.similarity import Known
from collection.proposers.stand_in_proposer import reply
from common.errors import UserError
from common.network import retry
from data.outcome import Outcome, Verdict
from data.task import Task, read_tasks, write_tasks
from data.trajectory import write_outcome
from tests.collection.endpoints import serving
from tests.collection.judges.test_judges import record
from tests.conftest import ROOT

TASKS = ROOT / "data" / "tasks"


@pytest.fixture(autouse=True)
def hurry(monkeypatch):
    """Pauses of a fiftieth."""
    monkeypatch.setattr(retry, "FIRST_PAUSE_S", 0.01)


def propose(folder: Path, url: str, method: str, **more) -> tuple[list[Task], dict]:
    """The tasks and the report of one command."""
    output = folder / f"{method}.jsonl"
    how = {"num_tasks": 40, "test_files": (TASKS / "test.jsonl",), "api_model": "proposer", "api_base": url}
    propose_tasks.main(ProposalsConfig(method=method, output_file=output, **{**how, **more}))
    return read_tasks(output), json.loads((folder / f"{method}.jsonl.report.json").read_text())


def check_measure(report: dict, num_tasks: int) -> None:
    """What issue and users expect of a proposer."""
    kept = report["oracle_kept"]
    print(report)
    assert kept["feasible"] >= 0.8 and kept["distinct"] >= 0.95 and kept["in_test_split"] == 0
    assert report["written"] >= 0.8 * num_tasks


def test_from_names_and_from_examples(tmp_path):
    with serving(reply, fault_rate=0.1, stall_s=0.1) as endpoint:
        for method, source in (
            ("names", {"sites_file": TASKS / "IL.jsonl"}),
            ("self_instruct", {"seed_files": (TASKS / "IL.jsonl",)}),
        ):
            tasks, report = propose(tmp_path, endpoint.url, method, check_feasibility=True, **source)
            check_measure(report, 40)
            assert {task.web_name for task in tasks} == {"Shop", "Encyclopedia", "Forum", "Timetable"}
            assert len({task.id for task in tasks}) == len(tasks) == report["kept"]


SHOP = "[1] RootWebArea '{} - Cargo'\n\t[2] searchbox 'Search products'\n"
PRODUCT = SHOP + (
    "\t[3] link '{}'\n\t[4] StaticText 'Price: 24.50 EUR'\n\t[5] StaticText 'Weight: 3 kg'\n"
    "\t[6] button 'Add to cart'\n"
    "\t[7] combobox 'Colour'\n\t\t[8] option 'x'\n\t\t[9] option '{}'\n"
)


def test_from_demonstrations_it_proposes_what_the_pages_show(tmp_path):
    from environments.sites.content import build

    products = build(0).shop.of("IL")[:12]
    for number, product in enumerate(products):
        pages = (
            (SHOP + "\t[3] link '{}'").format(product.department, product.category),
            PRODUCT.format(product.name, product.category, product.colours[1]),
        )
        record(tmp_path / "demos", Task(f"demo--{number}", "x", "http://shop.localhost:7070/"), "x", pages)
    with serving(reply) as endpoint:
        how = {"results_dir": tmp_path / "demos", "num_trees": 2, "seed_files": (TASKS / "IL.jsonl",)}
        tasks, report = propose(tmp_path, endpoint.url, "demos", num_tasks=20, ground_truth=True, **how)
    check_measure(report, 20)
    names = {product.name for product in products} | {product.category for product in products}
    assert all(any(name in task.ques for name in names) for task in tasks)
    assert all(task.eval for task in tasks)


def test_from_failures_only_and_within_the_critics_window(tmp_path):
    seeds = sorted(read_tasks(TASKS / "optim-1.jsonl"), key=lambda task: task.id)[::2]  # family by family
    for number, task in enumerate(seeds):
        verdict = (Verdict.FAILURE, Verdict.SUCCESS, Verdict.INVALID)[number % 3]
        write_outcome(record(tmp_path / "tries", task, "x"), Outcome(verdict))
    how = {"seed_files": (TASKS / "optim-1.jsonl",), "results_dir": tmp_path / "tries", "num_tasks": 24}
    with serving(reply) as endpoint:
        tasks, report = propose(tmp_path, endpoint.url, "evolve", **how)
        check_measure(report, 24)
        scores = tmp_path / "scores.jsonl"
        lines = [json.dumps({"ques": task.ques, "score": 0.1 * (number % 10)}) for number, task in enumerate(tasks)]
        scores.write_text("\n".join(lines))
        kept, report = propose(tmp_path, endpoint.url, "evolve", critic_scores=scores, **how)
    assert len(kept) < len(tasks) and report["outside_critic_window"] > 0
    assert all(0.05 <= 0.1 * ([task.ques for task in tasks].index(task.ques) % 10) <= 0.75 for task in kept)
    failed = {task.ques for task in seeds[::3]}
    assert not failed & {task.ques for task in tasks}


@pytest.mark.parametrize(
    ("text", "ques"),
    [
        (
            'thoughts\nOutput:\n{"web_name": "S", "ques": "find a"}\n{"ques": "find  b"}',
            ["find a", "find b"],
        ),
        ('```json\n{"ques": "find a"},\n```', ["find a"]),
        ('Output:\n{"ques": "find a"}\n{"ques": ', ["find a"]),
        ('Output:\n{"ques": 3}\n{"task": "x"}', None),
        ("I can't help with that.", None),
        ("", None),
    ],
)
def test_replies_are_read_line_by_line(text, ques):
    found = parse_proposals(text)
    assert (found.ques if found else None) == ques


def test_alike_is_what_asks_for_the_same_thing():
    names = ("Velod Wren", "Mabib Fern", "Ragib Iris", "Zumed Moss")
    known = Known(f'find the price of "{name}"' for name in names)
    assert known.nearest('Please find the price of "Velod Wren".')[0] > 0.9
    assert known.nearest('find the price of "Gomub Copper"')[0] < 0.6
    assert Known().nearest("x") == (0.0, "")


def test_leaks_are_names_and_near_copies_but_not_vocabulary():
    split = TestSplit(
        ['open "Velod", then its tab "History", and tell the "Flood"', "who won the cup of 1994 in Spain"],
        ['open "Mabib", then its tab "History", and tell the "Flood"'],
    )
    assert split.leak('report the "Area" of "velod"')
    assert split.leak("tell who won the cup of 1994 in Spain")
    assert not split.leak('report the "Flood" of "Ragib" from its tab "History"')


def test_what_does_not_fit_is_named(tmp_path):
    base = {"output_file": tmp_path / "x.jsonl", "api_base": "http://127.0.0.1:9/v1"}
    for how, complaint in (
        ({"method": "names"}, "needs --sites_file"),
        ({"method": "evolve", "seed_files": (TASKS / "IL.jsonl",)}, "needs --results_dir"),
        ({"method": "names", "sites_file": TASKS / "IL.jsonl", "num_tasks": 0}, "at least 1"),
    ):
        with pytest.raises(UserError, match=complaint):
            propose_tasks.main(ProposalsConfig(**base, **how))
    (tmp_path / "scores.jsonl").write_text('{"ques": "x", "score": 1}\nnonsense')
    with pytest.raises(UserError, match=r"scores\.jsonl:2"):
        critic_window(tmp_path / "scores.jsonl", (0.1, 0.2))


def test_sites_share_what_is_wanted_of_given_proposals():
    tasks = [
        Task(f"{site}-x--{number}", "", "") for site, count in (("A", 5), ("B", 1), ("C", 3)) for number in range(count)
    ]
    named = [dataclasses.replace(task, web_name=task.id[0]) for task in tasks]
    kept = propose_tasks.evenly(named, 6)
    assert [task.id for task in kept] == ["A-x--0", "A-x--1", "A-x--2", "B-x--0", "C-x--0", "C-x--1"]
    assert propose_tasks.evenly(named, 20) == named


def test_proposals_pass_a_critic_by_themselves(tmp_path):
    tasks = [
        Task(f"Shop-x--{number}", f"Find the weight of {number} boots", "http://shop.localhost/") for number in range(3)
    ]
    write_tasks(tmp_path / "proposed.jsonl", tasks)
    scores = [{"ques": task.ques, "score": score} for task, score in zip(tasks, (0.01, 0.4), strict=False)]
    (tmp_path / "scores.jsonl").write_text("".join(f"{json.dumps(score)}\n" for score in scores))
    how = {"seed_files": (tmp_path / "proposed.jsonl",), "critic_scores": tmp_path / "scores.jsonl", "test_files": ()}
    kept, report = propose(tmp_path, "", "given", **how)
    assert kept == tasks[1:2] and report["outside_critic_window"] == 2
