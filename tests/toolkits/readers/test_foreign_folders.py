"""Released files of eleven kinds go the whole way: read, judged, converted and viewed."""

import gzip
import json
import os
import pickle
from pathlib import Path

import pytest

from collection.evaluation.auto_eval import judge_all, tasks_in
from collection.judges.webarena import WebArenaJudge
from common.errors import UserError
from data.outcome import Outcome, Verdict
from data.task import Task
from data.trajectory import FINISHED, list_trajectories, read_outcome, read_trajectory
from tests.toolkits.foreign_folders import ANSWER, FOREIGN, FORMATS, TASK
from toolkits import convert_action_space, convert_trajectories_to_json, import_data, make_traces
from viewer.answers import Answers
from viewer.catalog.index import Index

ANDROID = ("digirl", "digiq")
WITHOUT_ANSWERS = (*ANDROID, "mind2web")
JUDGED = ("pae", "webrl", *ANDROID, "mind2web", "agentlab")


def imported(name: str, folder: Path) -> Path:
    """The folder of its trajectories."""
    folder.mkdir(parents=True)
    files = FOREIGN[name](folder)
    if name == "webvoyager":
        return folder
    results = folder.with_name("results")
    given = tuple(str(folder / file) for file in files)
    import_data.main(import_data.Config(FORMATS.get(name, name), given, str(folder), result_dir=str(results)))
    return results


@pytest.mark.parametrize("name", FOREIGN)
def test_it_goes_the_whole_way(name: str, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    results = imported(name, tmp_path / "released")
    [folder] = list_trajectories(results)
    trajectory = read_trajectory(folder)
    assert trajectory.ques == TASK and len(trajectory.steps) == {"digirl": 1, "online_mind2web": 3}.get(name, 2)
    if name not in WITHOUT_ANSWERS:
        assert trajectory.status == FINISHED and trajectory.answer == ANSWER
    assert (read_outcome(folder) is not None) == (name in JUDGED)

    judge_all(results, tasks_in(results), judge)
    assert read_outcome(folder).success

    whole = {"result_dir": str(results), "image_dir": str(tmp_path / "images"), "keep_unfinished": True}
    convert_trajectories_to_json.main(
        convert_trajectories_to_json.Config(**whole, save_json_file=str(tmp_path / "s.json"), num_workers=1)
    )
    samples = json.loads((tmp_path / "s.json").read_text())
    assert [sample["conversations"][-1]["value"] for sample in samples] == [step.reply for step in trajectory.steps]
    assert all((tmp_path / "images" / image).exists() for sample in samples for image in sample["images"])
    make_traces.main(make_traces.Config(results, tmp_path / "traces"))

    index = Index((results,), tmp_path / "index.sqlite")
    index.refresh()
    [run] = json.loads(Answers(index).answer("state", {}))["runs"]
    given = {"set": run["sets"][0], "name": folder.name, "number": "1"}
    assert TASK in Answers(index).answer("trajectory", given).decode()
    assert Answers(index).screenshot(given) and Answers(index).thumbnail(given)


def judge(task: Task, folder: Path) -> Outcome:
    assert read_trajectory(folder).answer == ANSWER
    return Outcome(Verdict.SUCCESS, judge="test")


def test_ground_truth_of_a_released_page_judges_it(tmp_path: Path) -> None:
    results = imported("visualwebarena", tmp_path / "released")
    judge_all(results, tasks_in(results), WebArenaJudge())
    assert all(read_outcome(folder).success for folder in list_trajectories(results))


def test_points_of_computer_use_are_said_in_another_space(tmp_path: Path) -> None:
    results = imported("openai_cua", tmp_path / "released")
    config = convert_action_space.Config(results, tmp_path / "other", "ui_tars")
    convert_action_space.main(config)
    [folder] = list_trajectories(tmp_path / "other")
    step, *_ = read_trajectory(folder).steps
    assert step.actions[0]["css"] == [[16.0, 12.0]] and "click" in step.reply


def test_what_is_shown_and_told_stays_with_its_step(tmp_path: Path) -> None:
    first, second = read_trajectory(list_trajectories(imported("browser_use", tmp_path / "released"))[0]).steps
    assert "Open the lamp." in first.reply and '"index": 3' in first.reply and first.url == "http://shop.example/"
    assert (first.feedback, second.feedback) == ("rate limit", "Clicked.")


WRONG = {
    "visualwebarena": ("render_7.html", "<pre>intent", "<pre>x"),
    "mind2web": ("train_0.json", '"action_reprs": ["[link]', '"action_reprs": [3, "'),
    "online_mind2web": ("abc/result.json", '"action_history": ["', '"action_history": ["x", "x", "'),
    "browser_use": ("history.json", '"history": [', '"history": [3, '),
    "openai_cua": ("run.jsonl", '"x": 16', '"x": null'),
    "webrl": ("traces/21.jsonl", '"html"', '"htm"'),
    "agentlab": ("summary_info.json", "1.0", "NaN"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_one_line_and_leaves_nothing(name: str, tmp_path: Path) -> None:
    folder, results = tmp_path / "released", tmp_path / "results"
    folder.mkdir()
    given = tuple(str(folder / file) for file in FOREIGN[name](folder))
    file, good, bad = WRONG[name]
    content = (folder / file).read_text().replace("<pre>task_id: 7\nintent", "<pre>intent")
    assert good in content
    (folder / file).write_text(content.replace(good, bad, 1))
    config = import_data.Config(FORMATS.get(name, name), given, str(folder), result_dir=str(results))
    with pytest.raises(UserError, match=r"^[^\n]+$") as refused:
        import_data.main(config)
    assert str(folder) in str(refused.value) and not results.exists()


def test_a_pickle_of_theirs_runs_nothing(tmp_path: Path) -> None:
    class Runs:
        def __reduce__(self) -> tuple:
            return os.mkdir, (str(tmp_path / "ran"),)

    (tmp_path / "step_0.pkl.gz").write_bytes(gzip.compress(pickle.dumps(Runs())))
    with pytest.raises(UserError, match=r"refused: the pickle asks for posix\.mkdir"):
        import_data.main(
            import_data.Config("agentlab", (str(tmp_path),), str(tmp_path), result_dir=str(tmp_path / "results"))
        )
    assert not (tmp_path / "ran").exists()
