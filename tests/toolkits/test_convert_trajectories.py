"""convert_trajectories_to_json.py: the released data byte for byte, and nothing that must not be trained on."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from common.errors import UserError
from data.image_check import check_image
from data.outcome import Outcome, Verdict
from data.samples.rewarded_step import RewardedStep
from data.trajectory import MAX_STEPS, list_trajectories, write_outcome
from tests.toolkits.trajectories import screenshot, write_trajectory
from toolkits import convert_trajectories_to_json as tool
from toolkits.convert_trajectories_to_json import Config, main
from toolkits.convert_trajectories_to_json import convert as real
from toolkits.shards.sample_records import encode_record

ROOT = Path(__file__).resolve().parents[2]


def convert(results: Path, out: Path, **options: Any) -> list[dict[str, Any]]:
    main(Config(str(results), str(out / "images"), str(out / "samples.json"), **options))
    return json.loads((out / "samples.json").read_text())


def test_the_released_example_byte_for_byte(tmp_path: Path, field_files: Path) -> None:
    command = [
        sys.executable,
        str(ROOT / "toolkits" / "convert_trajectories_to_json.py"),
        *("--result_dir", str(field_files / "trajectories")),
        *("--image_dir", str(tmp_path / "images")),
        *("--save_json_file", str(tmp_path / "example.json")),
        *("--round_id", "1"),
    ]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "example.json").read_bytes() == (field_files / "json" / "example.json").read_bytes()
    released = sorted((field_files / "images").iterdir())
    assert [path.name for path in sorted((tmp_path / "images").iterdir())] == [path.name for path in released]
    for path in released:
        assert (tmp_path / "images" / path.name).read_bytes() == path.read_bytes()


def test_one_sample_per_step_with_the_newest_screenshots(tmp_path: Path) -> None:
    write_trajectory(tmp_path / "results", "Shop--3", num_steps=4)
    samples = convert(tmp_path / "results", tmp_path, round_id=2, last_n=2)
    assert [sample["id"] for sample in samples] == [f"Shop--00003--r02--step0{step}" for step in (1, 2, 3, 4)]
    assert samples[3]["images"] == ["Shop--00003--r02--step03.png", "Shop--00003--r02--step04.png"]
    for sample in samples:
        assert sum(turn["value"].count("<image>") for turn in sample["conversations"]) == len(sample["images"])
        assert sample["conversations"][-1]["from"] == "gpt"
        assert all((tmp_path / "images" / name).exists() for name in sample["images"])


@pytest.mark.parametrize(
    "task_id, run, expected",
    [
        ("Amazon--3", None, "Amazon--00003--r01"),
        ("Google Flights--extend--12", None, "Google Flights--extend--00012--r01"),
        ("Allrecipes--20", 0, "Allrecipes--00020--run0--r01"),
        ("Allrecipes--20", 3, "Allrecipes--00020--run3--r01"),
        ("shop_7", None, "shop_00007--r01"),
        ("shop7", None, "shop7--r01"),
    ],
)
def test_names(tmp_path: Path, task_id: str, run: int | None, expected: str) -> None:
    write_trajectory(tmp_path / "results", task_id, run=run, num_steps=1)
    assert convert(tmp_path / "results", tmp_path)[0]["id"] == f"{expected}--step01"


def test_two_trajectories_may_not_share_a_name(tmp_path: Path) -> None:
    write_trajectory(tmp_path / "results", "Amazon--3")
    write_trajectory(tmp_path / "results", "Amazon--03")
    with pytest.raises(ValueError, match="Amazon--00003--r01--step01"):
        convert(tmp_path / "results", tmp_path)
    assert not (tmp_path / "samples.json").exists()


def fill(results: Path) -> None:
    """One folder of every kind."""
    write_trajectory(results, "Shop--1", verdict=Verdict.SUCCESS)
    write_trajectory(results, "Shop--2", verdict=Verdict.FAILURE)
    write_trajectory(results, "Shop--3", verdict=None)
    write_trajectory(results, "Shop--4", verdict=Verdict.INVALID)
    write_trajectory(results, "Shop--5", status=MAX_STEPS, verdict=Verdict.FAILURE)
    write_trajectory(results, "Shop--6", status=None)
    write_trajectory(results, "Shop--7")
    (results / "taskShop--7" / "screenshot2.png").write_bytes(screenshot(2)[:-20])
    write_trajectory(results, "Shop--8")
    (results / "taskShop--8" / "steps.jsonl").write_text('{"number": 1')
    write_trajectory(results, "Shop--9")
    (results / "taskShop--9" / "trajectory.json").write_text("[]")
    write_trajectory(results, "Shop--10")
    (results / "taskShop--10" / "accessibility_tree1.txt").unlink()
    (results / "notes").mkdir()


def kept(samples: list[dict[str, Any]]) -> set[str]:
    return {sample["id"].split("--r01")[0] for sample in samples}


def test_failures_without_an_answer_are_kept_when_asked_for(tmp_path: Path) -> None:
    """Shop--5 ran out of steps; Shop--6, which was killed, has no end at all."""
    fill(tmp_path / "results")
    expected = {"Shop--00001", "Shop--00002", "Shop--00003", "Shop--00005"}
    assert kept(convert(tmp_path / "results", tmp_path, keep_unfinished=True)) == expected
    only = convert(tmp_path / "results", tmp_path, keep_unfinished=True, only_success=True)
    assert kept(only) == {"Shop--00001"}


def test_samples_of_judged_trajectories_carry_rewards(tmp_path: Path) -> None:
    results = tmp_path / "results"
    write_trajectory(results, "Shop--1", run=0, num_steps=2, verdict=Verdict.FAILURE, status=MAX_STEPS)
    write_trajectory(results, "Shop--1", run=1, num_steps=3)
    write_trajectory(results, "Shop--2", num_steps=1, verdict=None)
    write_trajectory(results, "Shop--3", num_steps=1, verdict=Verdict.INFEASIBLE)
    everything = {
        sample["id"]: RewardedStep.of(sample["id"], sample)
        for sample in convert(results, tmp_path, keep_unfinished=True, only_judged=True)
    }
    assert [(step.trajectory, step.step, step.reward, step.done) for step in everything.values()] == [
        ("Shop--00001--run0--r01", 1, 0.0, False),
        ("Shop--00001--run0--r01", 2, 0.0, True),
        ("Shop--00001--run1--r01", 1, 0.0, False),
        ("Shop--00001--run1--r01", 2, 0.0, False),
        ("Shop--00001--run1--r01", 3, 1.0, True),
    ]
    assert {(step.group, step.task) for step in everything.values()} == {("Shop--00001--r01", "Shop--00001")}
    unjudged = next(sample for sample in convert(results, tmp_path) if sample["id"].startswith("Shop--00002"))
    assert unjudged.keys() == {"id", "images", "conversations"}
    with pytest.raises(UserError, match="sample Shop--00002--r01--step01: has no trajectory; convert judged"):
        RewardedStep.of(unjudged["id"], unjudged)


@pytest.mark.parametrize(
    "only_success, expected, counts",
    [
        (True, {"Shop--00001"}, [10, 1, 2, 1, 1, 0, 1, 4, 4]),
        (False, {"Shop--00001", "Shop--00002", "Shop--00003"}, [10, 3, 2, 0, 0, 0, 1, 4, 12]),
    ],
)
def test_only_what_may_be_trained_on_is_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], only_success: bool, expected: set[str], counts: list[int]
) -> None:
    """Invalid runs never, broken and unfinished ones are counted and do not stop the others."""
    fill(tmp_path / "results")
    assert kept(convert(tmp_path / "results", tmp_path, only_success=only_success)) == expected
    output = capsys.readouterr().out
    assert [*map(str, counts)] in [line.split() for line in output.splitlines()]
    for name in ("taskShop--7", "taskShop--8", "taskShop--9", "taskShop--10"):
        assert f"broken {name}" in output
    assert ("1 of those kept were judged a failure; --only_success" in output) is not only_success


def test_no_success_gives_an_empty_list(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A round that solved nothing must not stop the next one, which still has D_IL."""
    write_trajectory(tmp_path / "results", verdict=Verdict.FAILURE)
    assert convert(tmp_path / "results", tmp_path, only_success=True) == []
    assert "no trajectory was kept, so there is no sample: " in capsys.readouterr().out
    assert (tmp_path / "images").is_dir()


def test_released_verdicts_count(tmp_path: Path, field_files: Path) -> None:
    """OpenWebVoyager's evaluator leaves eval_res.json, with success 0 or 1 in its last message."""
    source = list_trajectories(field_files / "trajectories")[0]
    for success in (0, 1):
        folder = tmp_path / "results" / f"taskAmazon--{success}"
        shutil.copytree(source, folder)
        message = {"role": "assistant", "content": "NOT SUCCESS" if not success else "SUCCESS", "success": success}
        (folder / "eval_res.json").write_text(json.dumps([{"role": "system", "content": ""}, message]))
    assert kept(convert(tmp_path / "results", tmp_path, only_success=True)) == {"Amazon--00001"}


def test_again_gives_the_same(tmp_path: Path) -> None:
    write_trajectory(tmp_path / "results")
    first = convert(tmp_path / "results", tmp_path)
    before = {path.name: path.read_bytes() for path in (tmp_path / "images").iterdir()}
    assert convert(tmp_path / "results", tmp_path) == first
    assert {path.name: path.read_bytes() for path in (tmp_path / "images").iterdir()} == before


def test_another_picture_is_not_replaced(tmp_path: Path) -> None:
    """Samples that were written before refer to it; the same picture under the same name is welcome."""
    first = write_trajectory(tmp_path / "a", "Shop--1")
    second = write_trajectory(tmp_path / "b", "Shop--01")
    samples = convert(tmp_path / "a", tmp_path)
    image = tmp_path / "images" / samples[0]["images"][0]
    assert convert(tmp_path / "b", tmp_path) == samples
    (second / "screenshot1.png").write_bytes(screenshot(1, trajectory=7))
    with pytest.raises(UserError, match=r"Shop--00001--r01--step01\.png: holds another picture than .*taskShop--01"):
        convert(tmp_path / "b", tmp_path)
    assert image.read_bytes() == (first / "screenshot1.png").read_bytes()
    assert len(list(image.parent.iterdir())) == len(samples)


def test_images_are_copied_where_links_cannot_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError("Invalid cross-device link")

    monkeypatch.setattr(os, "link", refuse)
    write_trajectory(tmp_path / "results", num_steps=1)
    convert(tmp_path / "results", tmp_path)
    image = tmp_path / "images" / "Shop--00003--r01--step01.png"
    assert image.read_bytes() == (tmp_path / "results" / "taskShop--3" / "screenshot1.png").read_bytes()
    assert image.stat().st_nlink == 1


@pytest.mark.parametrize("make, message", [(False, "no such folder"), (True, "holds no trajectory folder")])
def test_a_wrong_folder_is_one_line(tmp_path: Path, make: bool, message: str) -> None:
    if make:
        (tmp_path / "results").mkdir()
    with pytest.raises(ValueError, match=message):
        convert(tmp_path / "results", tmp_path)


def test_only_the_named_judges_count(tmp_path: Path) -> None:
    write_trajectory(tmp_path / "results", "Shop--1")
    assert convert(tmp_path / "results", tmp_path, only_success=True, judges=("test",))
    write_outcome(write_trajectory(tmp_path / "results", "Shop--2"), Outcome(Verdict.FAILURE, judge="oracle"))
    assert kept(convert(tmp_path / "results", tmp_path, only_success=True, judges=("test",))) == {"Shop--00001"}
    assert convert(tmp_path / "results", tmp_path, only_success=True, judges=("oracle",)) == []


@pytest.mark.parametrize("only", ["only_success", "only_judged"])
def test_a_judge_who_judged_nothing_is_named(tmp_path: Path, only: str) -> None:
    """A misspelled name once replaced the samples by an empty list."""
    write_trajectory(tmp_path / "results", "Shop--1")
    write_trajectory(tmp_path / "results", "Shop--2", verdict=None)
    samples = convert(tmp_path / "results", tmp_path)
    message = r"--judges tset: judged no trajectory of .*results; those were judged by test \(1\)$"
    with pytest.raises(UserError, match=message):
        convert(tmp_path / "results", tmp_path, judges=("test", "tset"), **{only: True})
    assert json.loads((tmp_path / "samples.json").read_text()) == samples
    with pytest.raises(UserError, match="--judges says whose verdicts count for --only_success or --only_judged"):
        convert(tmp_path / "results", tmp_path, judges=("test",))


def test_trees_are_cut_to_whole_lines(tmp_path: Path) -> None:
    policy = ROOT / "examples" / "quickstart" / "starting_policy" / "weights"
    write_trajectory(tmp_path / "results", num_steps=1)
    whole = convert(tmp_path / "results", tmp_path)[0]["conversations"][0]["value"]
    short = convert(tmp_path / "results", tmp_path, max_tree_tokens=20, tokenizer=str(policy))
    assert whole == short[0]["conversations"][0]["value"] + "\n\t[2] link 'shoe'"
    tiny = convert(tmp_path / "results", tmp_path, max_tree_tokens=3, tokenizer=str(policy / "tokenizer.json"))
    assert whole.startswith(tiny[0]["conversations"][0]["value"])
    with pytest.raises(ValueError, match="--tokenizer"):
        convert(tmp_path / "results", tmp_path, max_tree_tokens=3)
    with pytest.raises(ValueError, match=r"no tokenizer\.json there"):
        convert(tmp_path / "results", tmp_path, max_tree_tokens=3, tokenizer=str(tmp_path))


def test_processes_give_the_same(tmp_path: Path) -> None:
    for number in range(20):
        write_trajectory(tmp_path / "results", f"Shop--{number}", num_steps=2)
    one = convert(tmp_path / "results", tmp_path / "a", num_workers=1)
    assert one == convert(tmp_path / "results", tmp_path / "b", num_workers=3)


def test_a_killed_run_goes_on_where_it_stopped(tmp_path: Path) -> None:
    """Killed after ten of twenty trajectories; what is done is not done again, unless the trajectory changed."""
    for number in range(20):
        write_trajectory(tmp_path / "results", f"Shop--{number:02d}", num_steps=2)
    expected = convert(tmp_path / "results", tmp_path / "whole", only_success=True)
    code = f"""
import os, signal
from toolkits import convert_trajectories_to_json as tool
convert, converted = tool.convert, []
def counted(folder, **options):
    if len(converted) == 10:
        os.kill(os.getpid(), signal.SIGKILL)
    converted.append(folder)
    return convert(folder, **options)
tool.convert = counted
out = {str(tmp_path / "out")!r}
tool.main(tool.Config({str(tmp_path / "results")!r}, out + "/images", out + "/samples.json", only_success=True,
                      num_workers=1))
"""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    result = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=120)
    assert result.returncode == -signal.SIGKILL, result.stderr
    spool = tmp_path / "out" / ".samples.json.partial"
    assert not (tmp_path / "out" / "samples.json").exists()
    with open(spool, "ab") as file:
        file.write(b'{"key": "torn')
    write_outcome(tmp_path / "results" / "taskShop--03", Outcome(Verdict.FAILURE, judge="test"))
    done: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tool, "convert", lambda folder, **options: (done.append(folder.name), real(folder, **options))[1])
        samples = convert(tmp_path / "results", tmp_path / "out", only_success=True, num_workers=1)
    assert done == ["taskShop--03", *(f"taskShop--{number}" for number in range(10, 20))]
    assert samples == [sample for sample in expected if not sample["id"].startswith("Shop--00003")]
    assert not spool.exists()


def test_records_are_indented_as_json_does_it() -> None:
    for record in (
        {"id": 'é\n"', "images": [], "conversations": [{"from": "human", "value": "\ud83d\u2028"}, {}]},
        {"weight": 0.5, "none": None, "flags": [True, [1, {"a": {}}], []], "": {"x": [[]]}},
    ):
        assert encode_record(record).decode() == json.dumps(record, indent=2).replace("\n", "\n  ")


def test_every_damage_to_an_image_is_noticed(tmp_path: Path) -> None:
    path, whole = tmp_path / "a.png", screenshot(1)
    path.write_bytes(whole)
    check_image(path)
    for position in range(len(whole)):
        for spoilt in (whole[:position], bytes([*whole[:position], whole[position] ^ 16, *whole[position + 1 :]])):
            path.write_bytes(spoilt)
            with pytest.raises((UserError, OSError)):
                check_image(path)
    Image.new("RGB", (8, 6)).save(tmp_path / "b.jpg")
    check_image(tmp_path / "b.jpg")


def sampled(results: Path, **provenance: Any) -> Path:
    """A trajectory of three steps whose policy told what it sampled."""
    folder = write_trajectory(results, "Shop--3", num_steps=3)
    lines = [json.loads(line) for line in (folder / "steps.jsonl").read_text().splitlines()]
    for line in lines:
        number = line["number"]
        line |= {
            "token_ids": [number, 7],
            "logprobs": [-0.5, -number],
            "weights_version": "il@1",
            "prompt_tokens": 40 + number,
            "sampling": {"temperature": 0.6 if number == 2 else 1, "top_k": 50 if number == 3 else 0, "top_p": 1.0},
        }
    (folder / "steps.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    summary = json.loads((folder / "trajectory.json").read_text())
    (folder / "trajectory.json").write_text(json.dumps({**summary, "provenance": provenance}))
    return results


def test_what_was_sampled_without_screenshots_travels_in_samples_without_them(tmp_path: Path) -> None:
    results = sampled(tmp_path / "results", prompt="trained", max_attached_imgs=1, text_only=True)
    samples = convert(results, tmp_path, last_n=0)
    assert [sample["logprobs"] for sample in samples] == [[-0.5, -1], [-0.5, -2], [-0.5, -3]]
    assert not any(sample["images"] or "<image>" in str(sample["conversations"]) for sample in samples)


def test_what_was_sampled_travels_with_the_sample(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results = sampled(tmp_path / "results", prompt="trained", max_attached_imgs=2, text_only=False)
    samples = convert(results, tmp_path, last_n=2)
    assert [sample["token_ids"] for sample in samples] == [[1, 7], [2, 7], [3, 7]]
    assert [sample["logprobs"] for sample in samples] == [[-0.5, -1], [-0.5, -2], [-0.5, -3]]
    assert [sample["prompt_tokens"] for sample in samples] == [41, 42, 43]
    assert [sample.get("sampling") for sample in samples] == [None, {"temperature": 0.6}, {"top_k": 50}]
    assert {sample["weights_version"] for sample in samples} == {"il@1"}
    assert "log-probabilities" not in capsys.readouterr().out


@pytest.mark.parametrize(
    "asked",
    [
        {"prompt": "trained", "max_attached_imgs": 1, "text_only": False},
        {"prompt": "trained", "max_attached_imgs": 2, "text_only": True},
        {"prompt": "chat", "max_attached_imgs": 2, "text_only": False},
        {},
    ],
)
def test_log_probabilities_of_another_prompt_are_left_out(
    tmp_path: Path, asked: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    samples = convert(sampled(tmp_path / "results", **asked), tmp_path, last_n=2)
    assert [sample["token_ids"] for sample in samples] == [[1, 7], [2, 7], [3, 7]]
    assert not any("logprobs" in sample for sample in samples)
    assert "3 samples without log-probabilities" in capsys.readouterr().out


def test_a_negative_number_of_screenshots_is_refused() -> None:
    with pytest.raises(UserError, match="--last_n must be at least 0, not -1"):
        Config("results", "images", "samples.json", last_n=-1)
