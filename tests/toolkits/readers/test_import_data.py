"""import_data.py: the field's files, as torch and their own code write them, become ours; rewards come along."""

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch

from common.errors import UserError
from data.outcome import Verdict
from data.samples.rewarded_step import RewardedStep
from data.shards.shard import read_manifest, read_shard
from data.trajectory import list_trajectories, read_trajectory
from tests.toolkits.trajectories import screenshot
from toolkits import convert_to_tar_data, convert_trajectories_to_json
from toolkits.import_data import Config, main
from toolkits.readers.reading.torch_file import plain, read_torch_file


def images(folder: Path, count: int) -> Path:
    (folder / "shots").mkdir(parents=True)
    for number in range(count):
        (folder / "shots" / f"{number}.png").write_bytes(screenshot(number))
    return folder


def imported(folder: Path, kind: str, file: Path, image_dir: Path) -> list[dict[str, Any]]:
    main(Config(kind, (str(file),), str(image_dir), str(folder / "samples.json"), round_id=2))
    return json.loads((folder / "samples.json").read_text())


def packed(folder: Path, image_dir: Path) -> dict[str, Any]:
    """The samples after convert_to_tar_data.py, by id."""
    out = folder / "shards"
    convert_to_tar_data.main(
        convert_to_tar_data.Config((str(folder / "samples.json"),), (str(image_dir),), str(out), num_workers=1)
    )
    return {s.id: s for entry in read_manifest(out, verify=True)["shards"] for s in read_shard(out / entry["url"])}


@pytest.mark.parametrize(
    ("place", "told"),
    [
        ("my data", r"1\.png is not in .*images, but in (?P<folder>.*my data); give --image_dir '(?P=folder)'$"),
        ("elsewhere", "; --image_dir is the folder in which the images' paths begin$"),
    ],
)
def test_a_wrong_image_dir_is_refused_with_the_right_one(tmp_path: Path, place: str, told: str) -> None:
    images(tmp_path / place, 2)
    turns = [{"role": "user", "content": "<image>Where?"}, {"role": "assistant", "content": "Here."}]
    file = tmp_path / "my data" / "train.jsonl"
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps({"messages": turns, "images": ["shots/1.png"]}))
    with pytest.raises(UserError, match=told):
        imported(tmp_path, "ms_swift", file, tmp_path / "images")


def test_torch_files_are_read_without_torch(tmp_path: Path) -> None:
    """Whatever plain data `torch.save` stores."""
    tensors = {
        "float": torch.arange(6.0).reshape(2, 3),
        "slice": torch.arange(10)[2:8:2],
        "transposed": torch.arange(6, dtype=torch.int32).reshape(2, 3).T,
        "bf16": torch.tensor([1.5, -2.0], dtype=torch.bfloat16),
        "bool": torch.tensor([True, False]),
        "scalar": torch.tensor(3.0, dtype=torch.float64),
    }
    arrays = {
        "float": numpy.arange(6, dtype=numpy.float32).reshape(2, 3),
        "fortran": numpy.asfortranarray(numpy.arange(6).reshape(2, 3)),
        "big": numpy.arange(3, dtype=">i4"),
        "number": numpy.float64(0.25),
    }
    torch.save([tensors, arrays, "é", None, (1, True)], tmp_path / "a.pt")
    read_tensors, read_arrays, *rest = read_torch_file(tmp_path / "a.pt")
    assert rest == ["é", None, (1, True)]
    for name, tensor in tensors.items():
        assert read_tensors[name].tolist() == tensor.tolist(), name
    assert [plain(read_arrays[name]) for name in arrays] == [plain(array) for array in arrays.values()]


def test_a_pickle_changes_no_type_for_the_files_after_it(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.pt", "w") as file:
        file.writestr("a/data.pkl", b"\x80\x02ctorch\nFloatStorage\n}X\x05\0\0\0dtypeX\x04\0\0\0int8sb.")
    with pytest.raises(UserError, match="changes what its reader made"):
        read_torch_file(tmp_path / "a.pt")


def test_digiq(tmp_path: Path) -> None:
    images(tmp_path / "data", 4)
    steps = [
        {
            "observation": "Previous Actions:  Goal: buy a lamp</s>",
            "next_observation": "",
            "image_path": f"<path_to_images>/shots/{number}.png",
            "next_image_path": f"<path_to_images>/shots/{number + 1}.png",
            "q_rep_out": numpy.zeros(4096, dtype=numpy.float32),
            "action": f'Action Decision: "tap" {number}',
            "action_list": ["a", "b"],
            "reward": 0.0,
            "done": False,
            "mc_return": numpy.float64(0.5),
            "trajectory_reward": 1.0,
        }
        for number in range(2)
    ]
    torch.save([steps, [], steps[:1]], tmp_path / "webshop.pt")
    samples = imported(tmp_path, "digiq", tmp_path / "webshop.pt", tmp_path / "data")
    assert [sample["id"] for sample in samples] == [
        f"webshop--{trajectory:05d}--r02--step{step:02d}" for trajectory, step in ((1, 1), (1, 2), (3, 1))
    ]
    sample = packed(tmp_path, tmp_path / "data")["webshop--00001--r02--step02"]
    assert sample.images == [screenshot(1)]
    assert [turn["value"] for turn in sample.conversations] == [
        "<image>\nPrevious Actions:  Goal: buy a lamp",
        'Action Decision: "tap" 1',
    ]
    assert sample.extra["mc_return"] == 0.5 and sample.extra["action_list"] == ["a", "b"]
    where = RewardedStep.of(sample.id, sample.extra)
    assert (where.trajectory, where.step, where.trajectory_reward) == ("webshop--00001--r02", 2, 1.0)


def test_digirl_shows_the_screenshot_of_the_step_before(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    images(tmp_path / "data", 3)
    steps = [
        {"observation": "Goal: x</s>", "action": str(number), "image_path": f"/home/u/shots/{number}.png", "reward": 0}
        for number in range(3)
    ]
    torch.save([steps], tmp_path / "general.pt")
    samples = imported(tmp_path, "digirl", tmp_path / "general.pt", tmp_path / "data")
    assert [(s["images"], s["conversations"][1]["value"]) for s in samples] == [
        (["shots/0.png"], "1"),
        (["shots/1.png"], "2"),
    ]
    assert "general.pt: left out 1 first steps" in capsys.readouterr().err


def test_digirl_and_digiq_as_trajectories(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    images(tmp_path / "data", 3)
    steps = [
        {
            "observation": f"Previous Actions: {number} Goal: buy a lamp</s>",
            "action": f"Action Decision: {number}",
            "image_path": f"/home/u/shots/{number}.png",
            "reward": 0,
            "trajectory_reward": numpy.float64(1.0),
        }
        for number in range(2)
    ]
    torch.save([[], steps, steps[:1]], tmp_path / "general.pt")
    where = (str(tmp_path / "general.pt"),), str(tmp_path / "data")
    main(Config("digirl", *where, result_dir=str(tmp_path / "a")))
    assert "general.pt: left out 2 trajectories of one step or none" in capsys.readouterr().err
    [folder] = list_trajectories(tmp_path / "a")
    found = read_trajectory(folder)
    assert (found.ques, found.outcome.verdict, found.outcome.judge) == ("buy a lamp", Verdict.SUCCESS, "digirl")
    assert [step.reply for step in found.steps] == ["Action Decision: 1"]
    assert found.screenshot(1).read_bytes() == screenshot(0)
    torch.save([[{**step, "next_image_path": "x", "trajectory_reward": 0} for step in steps]], tmp_path / "general.pt")
    main(Config("digiq", *where, result_dir=str(tmp_path / "b")))
    [folder] = list_trajectories(tmp_path / "b")
    assert read_trajectory(folder).outcome.verdict is Verdict.FAILURE
    assert read_trajectory(folder).screenshot(1).read_bytes() == screenshot(0)


@pytest.mark.parametrize(
    ("rewards", "message"),
    [({}, "has no reward, which would say"), ({"reward": float("nan")}, "a reward is not a finite number")],
)
def test_a_trajectory_that_nobody_judged_is_no_failure(rewards: dict, message: str, tmp_path: Path) -> None:
    images(tmp_path / "data", 2)
    step = {"observation": "Goal: x</s>", "action": "a", "image_path": "shots/0.png", "next_image_path": "x", **rewards}
    torch.save([[step]], tmp_path / "general.pt")
    where = (str(tmp_path / "general.pt"),), str(tmp_path / "data")
    with pytest.raises(UserError, match=f"general.pt: trajectory 1: {message}"):
        main(Config("digirl", *where, result_dir=str(tmp_path / "a")))
    if rewards:
        with pytest.raises(UserError, match="trajectory 1, step 1: its reward is not a finite number"):
            imported(tmp_path, "digirl", tmp_path / "general.pt", tmp_path / "data")


def test_webrl(tmp_path: Path) -> None:
    """The prompt as its `format_prompt` builds it."""
    user = "<|eot_id|><|start_header_id|>user<|end_header_id|>\n"
    assistant = "<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n"
    action = "# Element: the box\ndo(action='Click', element='3')"
    first = f"Task Instruction: Find it\n\nRound 0\n\n{user}<html>0\n\n{assistant}"
    second = (
        f"Task Instruction: Find it\n\nRound 0\n\n{user}** Simplified html **\n\n{assistant}{action}\n\n"
        f"Round 1\n\n{user}<html>1\n\n{assistant}"
    )
    steps = [
        {"observation": first, "action": action, "task": "Find it", "reward": 1, "done": False, "trajectory_reward": 1},
        {"observation": second, "action": "exit()", "rank_score": torch.tensor([0.75]), "reward": 1, "done": True},
    ]
    torch.save([steps], tmp_path / "a.pt")
    torch.save(steps, tmp_path / "a_filter.pt")
    expected = [
        ["Task Instruction: Find it\n\nRound 0\n\n<html>0", action],
        [
            "Task Instruction: Find it\n\nRound 0\n\n** Simplified html **",
            action,
            "Round 1\n\n<html>1",
            "exit()",
        ],
    ]
    for name, ids in (("a", ["a--00001--r02--step01", "a--00001--r02--step02"]), ("a_filter", None)):
        samples = imported(tmp_path, "webrl", tmp_path / f"{name}.pt", tmp_path)
        assert [[turn["value"] for turn in sample["conversations"]] for sample in samples] == expected
        assert ids is None or [sample["id"] for sample in samples] == ids
        assert [sample["reward"] for sample in samples] == [0, 1]
        assert samples[1]["rank_score"] == 0.75 and (samples[0]["task"], samples[0]["group"]) == (
            "Find it",
            "Find it--r02",
        )


def test_pae(tmp_path: Path) -> None:
    images(tmp_path / "data", 3)
    opening = (
        "Now given a task: Find a lamp.  Please interact with https://shop.example/ and get the answer. \nObservation"
    )
    actions = ["Thought: a\n\nAction: Click [3]", "Thought: b\n\nAction: ANSWER; 7"]
    steps = [
        {
            "observation": {"image": f"shots/{n}.png", "task": opening, "web_name": "Shop", "button": f"[{n}] link"},
            "action": action,
            "reward": n,
            "eval_info": "SUCCESS",
        }
        for n, action in enumerate(actions)
    ]
    torch.save([[], steps, steps[:1]], tmp_path / "train_trajectories.pt")
    results = tmp_path / "results"
    main(Config("pae", (str(tmp_path / "train_trajectories.pt"),), str(tmp_path / "data"), result_dir=str(results)))
    first, second = (read_trajectory(folder) for folder in list_trajectories(results))
    assert (first.ques, first.web, first.answer) == ("Find a lamp.", "https://shop.example/", "7")
    assert first.outcome.verdict is Verdict.SUCCESS and second.outcome.verdict is Verdict.FAILURE
    assert first.trees == ["[0] link", "[1] link"]
    assert [folder.name for folder in list_trajectories(results)] == ["taskShop--1--run0", "taskShop--1--run1"], (
        "a group"
    )
    config = convert_trajectories_to_json.Config(
        str(results), str(tmp_path / "images"), str(tmp_path / "samples.json"), only_success=True, num_workers=1
    )
    convert_trajectories_to_json.main(config)
    assert len(json.loads((tmp_path / "samples.json").read_text())) == 2
    with pytest.raises(UserError, match="something is there"):
        main(Config("pae", (str(tmp_path / "train_trajectories.pt"),), str(tmp_path / "data"), result_dir=str(results)))


def test_llava_and_sharegpt(tmp_path: Path) -> None:
    images(tmp_path / "data", 3)
    records = [
        {
            "id": "coco/7",
            "image": "shots/0.png",
            "conversations": [{"from": "human", "value": "What? <image>"}, {"from": "gpt", "value": "A lamp"}],
        },
        {
            "id": 8,
            "images": ["shots/1.png", "shots/2.png"],
            "messages": [
                {"role": "system", "content": "Be short."},
                {"role": "user", "content": "Compare"},
                {"role": "assistant", "content": "No"},
            ],
        },
        {"conversations": [{"from": "human", "value": "Hi"}, {"from": "gpt", "value": "Ho"}]},
    ]
    (tmp_path / "mix.json").write_text(json.dumps(records))
    (tmp_path / "mix.jsonl").write_text("\n".join(map(json.dumps, records)))
    samples = imported(tmp_path, "llava", tmp_path / "mix.json", tmp_path / "data")
    assert [sample["id"] for sample in samples] == ["coco_7", "8", "mix--0000003"]
    assert samples[1]["conversations"][0]["value"] == "<image>\n<image>\nBe short.\nCompare"
    assert samples == imported(tmp_path, "llava", tmp_path / "mix.jsonl", tmp_path / "data")
    assert packed(tmp_path, tmp_path / "data")["8"].images == [screenshot(1), screenshot(2)]


@pytest.mark.parametrize(
    "fields, turn",
    [
        ({"system": "Be short."}, {}),
        ({"tools": [{"name": "click"}]}, {}),
        ({}, {"tool_calls": [{"id": "c", "function": {"name": "click", "arguments": "{}"}}]}),
        ({}, {"reasoning_content": "It is late."}),
        ({}, {"weight": 0}),
        ({}, {"train": False}),
    ],
)
def test_what_a_sample_cannot_hold_is_refused_by_its_name(tmp_path: Path, fields: dict, turn: dict) -> None:
    """Who drops it learns replies that are not meant to be, or others than are meant."""
    turns = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ho", **turn}]
    (tmp_path / "mix.json").write_text(json.dumps([{"messages": turns, **fields}]))
    with pytest.raises(UserError, match=rf"mix\.json.*{next(iter(fields | turn))}.*would be lost"):
        imported(tmp_path, "llava", tmp_path / "mix.json", tmp_path / "data")
    nothing = dict.fromkeys(fields), {name: 1 if name in ("weight", "train") else None for name in turn}
    turns[1] |= nothing[1]
    (tmp_path / "mix.json").write_text(json.dumps([{"messages": turns, **nothing[0]}]))
    assert len(imported(tmp_path, "llava", tmp_path / "mix.json", tmp_path / "data")) == 1


def test_the_released_tar_gives_the_released_json_and_images(tmp_path: Path, field_files: Path) -> None:
    tar = field_files / "tar" / "openwebvoyager-000000.tar"
    samples = imported(tmp_path, "openwebvoyager_tar", tar, tmp_path / "images")
    expected = json.loads((field_files / "json" / "example.json").read_text())
    assert [(s["id"], s["images"]) for s in samples] == [(s["id"], s["images"]) for s in expected]
    for path in (field_files / "images").iterdir():
        assert (tmp_path / "images" / path.name).read_bytes() == path.read_bytes()
