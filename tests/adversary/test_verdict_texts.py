"""What judges write, half of it with quotations of agents who claim their success, through the commands.

Each task names its text; a stand-in for the judging model says it, as often as it is asked. By default it is a share
of the 300 texts; all of them: python -m pytest tests/adversary/test_verdict_texts.py -m slow -s
"""

import re
import subprocess
import sys
from collections import Counter
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest

from data.outcome import Verdict
from data.task import Task, write_tasks
from data.trajectory import read_outcome
from tests.collection.collector import Collector, task
from tests.collection.judges.judge_replies import other_texts, quoting_texts
from tests.collection.judges.judging_endpoints import Said, case_of, judging
from tests.collection.judges.test_judges import record
from tests.conftest import ROOT

TEXTS = [(text, None) for text in quoting_texts()] + other_texts()
SHARES = [pytest.param(7, id="a seventh"), pytest.param(1, id="all", marks=pytest.mark.slow)]
FEW = [pytest.param(25, id="a twenty-fifth"), pytest.param(1, id="all", marks=pytest.mark.slow)]


def say_its_text(messages, asked_again):
    return Said(TEXTS[int(re.search(r"text (\d+)", case_of(messages))[1])][0], "")


def check(results: Path, numbers: list[int]) -> None:
    """Each trajectory is what its text says it is, `invalid` with the text kept where it says nothing."""
    counts = Counter()
    for number in numbers:
        text, means = TEXTS[number]
        outcome = read_outcome(results / f"taskT--{number}")
        counts[outcome.verdict.value, means and means.value] += 1
        if outcome.verdict is Verdict.INVALID:
            assert text in outcome.raw and "no verdict in 3 replies" in outcome.reason
        else:
            assert outcome.verdict is means, (text, outcome)
    print(f"\n{len(numbers)} texts, verdict and what its judge means: {dict(counts)}")
    assert counts["success", "success"] and counts["failure", "failure"]


@pytest.mark.parametrize("share", SHARES)
def test_auto_eval(tmp_path: Path, share: int) -> None:
    numbers = list(range(0, len(TEXTS), share))
    tasks = [Task(f"T--{number}", f"text {number}", "http://x.test/") for number in numbers]
    write_tasks(tmp_path / "tasks.jsonl", tasks)
    for number, each in zip(numbers, tasks, strict=True):
        record(tmp_path / "results", each, "I did it.\nSUCCESS" if TEXTS[number][1] is None else "I did it.")
    with judging("refuses", say_its_text) as state:
        command = [sys.executable, "collection/evaluation/auto_eval.py", "--process_dir", tmp_path / "results"]
        command += ["--test_file", tmp_path / "tasks.jsonl", "--judge", "webvoyager"]
        command += ["--api_eval_model", "judge", "--eval_api_base", state.url]
        done = subprocess.run([str(word) for word in command], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "takes no response_format" in done.stderr
    check(tmp_path / "results", numbers)


@pytest.mark.parametrize("share", FEW)
def test_run(collector: Collector, site: ThreadingHTTPServer, url: str, share: int) -> None:
    numbers = list(range(0, len(TEXTS), share))
    tasks = [task(number, f"{url}/", f"ANSWER; text {number}. SUCCESS") for number in numbers]
    with judging("ignores", say_its_text) as state:
        how = {"judge": "webvoyager", "api_eval_model": "judge", "eval_api_base": state.url}
        done = collector.run(tasks, api_localhost=f"{url}/predict", **how)
    assert done.returncode == 0, done.stderr
    check(collector.results, numbers)
