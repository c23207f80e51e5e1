"""WebRL's process_data: rewards of rollouts, and earlier successes chosen by a real model's perplexity."""

import json
import math
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from PIL import Image

from common.errors import UserError
from common.files import read_json, write_json
from data.outcome import Verdict
from data.samples.reward_model import reward_model_turn
from data.trajectory import INVALID, MAX_STEPS, list_trajectories, read_trajectory
from tests import tiny
from tests.conftest import ROOT
from tests.hugging_face import Reference
from tests.toolkits.trajectories import write_trajectory
from toolkits.process_data import Config, main
from toolkits.readers.logs.webrl import read_webrl
from toolkits.trajectories.replay import in_window, one_success_per_task
from toolkits.trajectories.rollouts import read_trace

BOTH = (Verdict.SUCCESS, Verdict.FAILURE)


def rollouts(folder: Path) -> Path:
    """A success of 3 steps, a failure of 2, one that did not answer, two that prove nothing, two that nobody judged."""
    write_trajectory(folder, "Shop--1", num_steps=3)
    write_trajectory(folder, "Shop--2", num_steps=2, verdict=Verdict.FAILURE)
    write_trajectory(folder, "Shop--3", num_steps=1, status=MAX_STEPS, verdict=Verdict.FAILURE)
    write_trajectory(folder, "Shop--4", status=None)
    write_trajectory(folder, "Shop--5", status=INVALID, verdict=None)
    write_trajectory(folder, "Shop--6", verdict=None)
    write_trajectory(folder, "Shop--7", verdict=Verdict.INVALID)  # by a judge that failed
    return folder


def columns(path: Path, name: str) -> dict[str, list[float]]:
    """A column's values by task id, in the order of the steps."""
    found: dict[str, list[float]] = {}
    for record in read_json(path):
        found.setdefault(record["id"].split("--r0")[0], []).append(record[name])
    return found


def test_stage_1_gives_each_step_its_reward_and_return(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results, output = rollouts(tmp_path / "results"), tmp_path / "phase" / "data.json"
    main(Config(stage=(1,), rollout_path=results, output_path=output, gamma=0.5))
    assert "6 samples of 1 successes and 2 failures; left out 2 unjudged and 2 unfinished" in capsys.readouterr().out
    names = ["Shop--00001", "Shop--00002", "Shop--00003"]
    assert columns(output, "reward") == dict(zip(names, [[0, 0, 1], [0, 0], [0]], strict=True))
    assert columns(output, "mc_return") == dict(zip(names, [[0.25, 0.5, 1], [0, 0], [0]], strict=True))
    assert columns(output, "done")["Shop--00001"] == [False, False, True]
    assert columns(output, "weight")["Shop--00001"] == [1, 1, 1] and columns(output, "weight")["Shop--00002"] == [0, 0]
    images = {image for record in read_json(output) for image in record["images"]}
    assert all((output.parent / "images" / image).exists() for image in images)
    main(Config(stage=(1,), rollout_path=results, output_path=output, gamma=0.5, mode="released"))
    assert columns(output, "reward")["Shop--00001"] == [1, 1, 1]
    assert columns(output, "mc_return")["Shop--00001"] == [1.75, 1.5, 1]


def test_webrls_traces_give_the_turns_that_its_own_prompts_give(tmp_path: Path) -> None:
    steps = [
        {"target": "Buy a lamp", "prompt": "** Simplified html **", "html": f"<p>page {n}</p>", "response": f"do({n})"}
        for n in range(3)
    ]
    (tmp_path / "traces").mkdir()
    (tmp_path / "actions").mkdir()
    trace = tmp_path / "traces" / "21.jsonl"
    trace.write_text("\n".join(map(json.dumps, steps)))
    write_json(tmp_path / "actions" / "21.json", {"score": 1.0})
    main(Config(stage=(1,), rollout_path=tmp_path, output_path=tmp_path / "data.json"))
    ours = read_json(tmp_path / "data.json")
    assert [record["trajectory_reward"] for record in ours] == [1, 1, 1] and ours[0]["images"] == []

    mark = "<|eot_id|><|start_header_id|>{}<|end_header_id|>\n"
    shown = [steps[0]["prompt"], steps[1]["prompt"], steps[2]["html"]]
    rounds = [f"Round {n}\n\n{mark.format('user')}{text}\n\n{mark.format('assistant')}" for n, text in enumerate(shown)]
    history = "".join(f"{text}{step['response']}\n\n" for text, step in zip(rounds[:2], steps, strict=False))
    released = {"observation": f"Task Instruction: Buy a lamp\n\n{history}{rounds[2]}", "action": "do(2)"}
    torch.save([[released]], tmp_path / "released.pt")
    (theirs,) = read_webrl(tmp_path / "released.pt", tmp_path, 1)
    assert ours[2]["conversations"] == theirs["conversations"]

    trace.write_text('{"target": "x"}')
    with pytest.raises(UserError, match=r"21\.jsonl: step 1: has no prompt"):
        read_trace(trace, 1)


def test_one_success_a_task_and_only_within_the_window() -> None:
    def steps(name: str, task: str, reward: int, perplexities: tuple[float, ...]) -> list[dict]:
        common = {"task": task, "trajectory_reward": reward}
        return [{"id": f"{name}--r01--step{n:02d}", "perplexity": p, **common} for n, p in enumerate(perplexities)]

    records = [
        *steps("A--1", "a", 0, (1.5, 1.5)),
        *steps("A--1--run1", "a", 1, (1.0, 1.1, 1.9)),
        *steps("A--1--run2", "a", 1, (1.5,)),
        *steps("B--1", "b", 1, (2.0, 1.06)),
    ]
    chosen = one_success_per_task(records)
    assert [record["id"].split("--r0")[0] for record in chosen] == ["A--1--run1"] * 3 + ["B--1"] * 2
    window = (1 / 0.95, 2.0)
    assert {record["perplexity"] for record in in_window(chosen, window, 9, random.Random(0))} == {1.1, 1.9, 1.06}
    assert len(in_window(chosen, window, 2, random.Random(0))) == 2


def test_rollouts_of_the_same_sample_ids_are_refused_before_a_picture_is_placed(tmp_path: Path) -> None:
    for name in ("Shop--1", "Shop--00001"):
        write_trajectory(tmp_path / "ours", name)
    (tmp_path / "webrl" / "traces").mkdir(parents=True)
    step = json.dumps(dict.fromkeys(("target", "prompt", "html", "response"), "x"))
    for name in ("1", "01"):
        (tmp_path / "webrl" / "traces" / f"{name}.jsonl").write_text(step)
    for folder, complaint in (
        ("ours", "taskShop--1: gives the sample id Shop--00001--r01--step01, as taskShop--00001 does"),
        ("webrl", r"/1\.jsonl: gives the sample id webrl--00001--r01--step01, as 01\.jsonl does"),
    ):
        with pytest.raises(UserError, match=complaint):
            main(Config(stage=(1,), rollout_path=tmp_path / folder, output_path=tmp_path / "out" / "data.json"))
    assert not list((tmp_path / "out").iterdir())


def test_what_does_not_fit_is_named_and_nothing_is_lost(tmp_path: Path) -> None:
    results, output = rollouts(tmp_path / "results"), tmp_path / "phase" / "data.json"
    for how, complaint in (
        ({"stage": (1,)}, "needs --rollout_path"),
        ({"stage": (1,), "rollout_path": results, "add_reward": True}, "needs --orm_path"),
        ({"stage": (2,), "experience_paths": ("x.json",)}, "needs --actor_path"),
        ({"stage": (1,), "rollout_path": tmp_path / "nowhere"}, "no such folder"),
    ):
        with pytest.raises(UserError, match=complaint):
            main(Config(output_path=output, **how))
    with pytest.raises(UserError, match=r"name it \.json"):
        main(Config(stage=(1,), rollout_path=results, output_path=tmp_path / "data.pt"))
    main(Config(stage=(1,), rollout_path=results, output_path=output))
    before = output.read_bytes()
    with pytest.raises(UserError, match="each phase needs its --round_id"):
        main(Config(stage=(2,), output_path=output, experience_paths=(f"{output},",), actor_path=tmp_path))
    torch.save([[{"observation": "x", "action": "y"}]], tmp_path / "released.pt")
    with pytest.raises(UserError, match="lacks task or trajectory_reward"):
        released = (str(tmp_path / "released.pt"),)
        main(Config(stage=(2,), output_path=output, experience_paths=released, actor_path=tmp_path))
    assert output.read_bytes() == before and sorted(path.name for path in output.parent.iterdir()) == [
        "data.json",
        "images",
    ]


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_both_stages_with_real_models(tmp_path: Path) -> None:
    """As a user types it: rewards are the reward model's, perplexities the actor's, by Hugging Face's own numbers."""
    model = tiny.build_policy(tmp_path / "model")
    old, new = tmp_path / "old" / "data.json", tmp_path / "new" / "data.json"
    for number in range(4):
        write_trajectory(tmp_path / "first", f"Shop--{number}", num_steps=number + 1, verdict=BOTH[number == 3])
        write_trajectory(tmp_path / "second", f"Shop--{number}", num_steps=number + 1, verdict=None)
    write_trajectory(tmp_path / "second", "Shop--9", num_steps=1, status=MAX_STEPS, verdict=None)
    main(Config(stage=(1,), rollout_path=tmp_path / "first", output_path=old))
    for record in (records := read_json(old)):
        record["task"] = record["id"].split("--r0")[0]  # the trajectories of tests all have the same task
    write_json(old, records)

    reference = Reference(model)
    expected = {record["id"]: perplexity(reference, record, old.with_name("images")) for record in records[:6]}
    values = sorted(set(expected.values()))
    low, high = (values[0] + values[1]) / 2, (values[-2] + values[-1]) / 2
    inside = {name for name, value in expected.items() if low <= value < high}
    flags = ["--stage", "1", "2", "--add_reward", "--rollout_path", tmp_path / "second", "--orm_path", model]
    flags += ["--experience_paths", old, "--actor_path", model, "--output_path", new, "--round_id", 2]
    flags += ["--perplexity_window", low, high]
    command = [sys.executable, ROOT / "toolkits" / "process_data.py", *flags]
    environment = {**tiny.environment(), "PR": "fp32", "SEQ_LEN": "1024", "PATH": os.environ["PATH"]}
    done = subprocess.run([str(word) for word in command], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr

    asked = [read_trajectory(folder) for folder in list_trajectories(tmp_path / "second")]
    by_task = {record["id"].split("--r0")[0]: record for record in read_json(new)}
    for trajectory in asked[:4]:
        text = reward_model_turn(trajectory.ques, trajectory).text
        image = Image.open(trajectory.screenshot(len(trajectory.steps))).convert("RGB")
        yes, no = (math.exp(sum(reference.logprobs([text], [image], answer))) for answer in ("YES", "NO"))
        record = by_task[trajectory.task_id.replace("--", "--0000")]
        assert record["p_yes"] == pytest.approx(yes / (yes + no), abs=1e-4)
        assert record["trajectory_reward"] == int(record["p_yes"] >= 0.5)
    assert by_task["Shop--00009"]["trajectory_reward"] == 0 and "p_yes" not in by_task["Shop--00009"]

    mixed = read_json(new.with_name("data_filter.json"))
    replayed = {record["id"]: record["perplexity"] for record in mixed if "--r01--" in record["id"]}
    assert len(mixed) == 11 + len(replayed) and replayed.keys() == inside and 0 < len(inside) < 6
    assert replayed == {name: pytest.approx(expected[name], rel=1e-4) for name in replayed}
    assert all((new.parent / "images" / image).exists() for record in mixed for image in record["images"])
    assert not list(new.parent.glob(".*"))


def perplexity(reference: Reference, record: dict, images: Path) -> float:
    """exp of minus the mean log-probability of the record's reply."""
    *asked, reply = [turn["value"] for turn in record["conversations"]]
    shown = [Image.open(images / name).convert("RGB") for name in record["images"]]
    logprobs = reference.logprobs(asked, shown, reply)
    return math.exp(-sum(logprobs) / len(logprobs))
