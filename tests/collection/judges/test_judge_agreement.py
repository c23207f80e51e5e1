"""Agreement of two judges: the numbers by hand, and the whole command on a folder."""

import json
import subprocess
import sys

from collection.evaluation.judge_agreement import agreement
from common.files import write_json
from data.outcome import Outcome, Verdict
from data.task import write_tasks
from data.trajectory import AGREEMENT, PERSON, folder_name
from tests.collection.endpoints import serving
from tests.collection.judges.test_judges import QUESTIONS, record, right_answer
from tests.conftest import ROOT

YES, NO, INVALID = Verdict.SUCCESS, Verdict.FAILURE, Verdict.INVALID


def test_the_numbers():
    pairs = [(YES, YES)] * 20 + [(NO, YES)] * 5 + [(YES, NO)] * 10 + [(NO, NO)] * 15 + [(YES, INVALID), (INVALID, NO)]
    table = agreement(pairs)
    assert (table["num_compared"], table["num_left_out"]) == (50, 2)
    assert (table["agreement"], table["precision"], table["recall"]) == (0.7, 0.8, 2 / 3)
    assert abs(table["kappa"] - 0.4) < 1e-9  # the textbook's example
    assert agreement([])["kappa"] is None and agreement([(YES, YES)])["kappa"] is None


def test_the_command_compares_a_model_with_the_oracle(tmp_path):
    tasks, results = QUESTIONS[:12], tmp_path / "results"
    for number, task in enumerate(tasks):
        record(results, task, right_answer(task) if number % 3 else "no idea")
    write_tasks(tmp_path / "tasks.jsonl", tasks)
    for number in range(4):  # the oracle says failure of the first and the fourth
        label = Outcome(YES if number in (0, 1) else NO, judge=PERSON)
        write_json(results / AGREEMENT / PERSON / f"{folder_name(tasks[number].id)}.json", label.to_json())
    with serving(error_rate=0.3) as endpoint:
        command = [sys.executable, "collection/evaluation/judge_agreement.py", "--process_dir", results]
        command += ["--test_file", tmp_path / "tasks.jsonl", "--reference", "oracle", "--judge", "webvoyager"]
        command += ["--api_eval_model", "judge", "--eval_api_base", endpoint.url]
        for _ in range(2):
            done = subprocess.run([str(word) for word in command], cwd=ROOT, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
        assert len(endpoint.fates) == len(tasks)
    table = json.loads((results / "agreement.json").read_text())
    assert table["num_compared"] == 12 and 0.4 < table["agreement"] < 1
    labeled = table["person"]
    assert labeled["reference"]["num_compared"] == 4 == labeled["judge"]["num_compared"]
    assert labeled["reference"]["agreement"] == 0.5 and f"oracle against {PERSON}" in done.stdout
    assert not list(results.glob("task*/outcome.json"))
