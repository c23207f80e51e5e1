"""sample_candidates.py as a user runs it: over a real server, killed in the middle; its file as Digi-Q takes it."""

import itertools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyarrow import parquet

from collection.config.commands import CandidatesConfig
from collection.sample_candidates import actions_of, main, screen_of
from common.errors import UserError
from data.action_spaces import NUMBERS, action_space
from data.samples.rewarded_step import reward_fields
from data.shards.columns import read_record
from data.shards.shard import Sample, read_manifest, read_shard
from tests import tiny
from tests.answering import Request, answering
from tests.conftest import ROOT
from tests.server.helpers import running_server
from toolkits import convert_to_tar_data
from training.critics.make_columns import MakeColumnsConfig
from training.critics.make_columns import main as make_columns

TAKEN = "Thought: t.\n\nAction: Click [2]"
TREE = "[1] RootWebArea 'Shop' focused: True\n\t[2] link 'basket'\n\t[3] textbox 'Search'\n\t[4] button 'Go'"


def tries(folder: Path, num_steps: int = 2) -> tuple[Path, Path, Path]:
    """(sample file, images, shards) of two tries, of which the first succeeded."""
    samples, images = [], folder / "images"
    images.mkdir()
    for run in range(2):
        ids = [f"Shop--00001--run{run}--r02--step{step:02d}" for step in range(1, num_steps + 1)]
        for identifier, fields in zip(ids, reward_fields(ids, run == 0), strict=True):
            (images / f"{identifier}.png").write_bytes(tiny.sample(len(samples)).images[0])
            asked = {"from": "human", "value": f"What is the price?\nOBSERVATION:\n<image>\n{TREE}"}
            drawn = {"token_ids": [5, 6], "logprobs": [-0.5, -0.5], "weights_version": "policy@1"}
            turns = [asked, {"from": "gpt", "value": TAKEN}]
            samples.append(
                {"id": identifier, "images": [f"{identifier}.png"], "conversations": turns, **fields, **drawn}
            )
    (folder / "samples.json").write_text(json.dumps(samples))
    return folder / "samples.json", images, pack(folder, "shards")


def pack(folder: Path, name: str, **options: Any) -> Path:
    files = {"json_files": (str(folder / "samples.json"),), "image_dirs": (str(folder / "images"),)}
    convert_to_tar_data.main(convert_to_tar_data.Config(**files, save_dir=str(folder / name), num_workers=1, **options))
    return folder / name


def read(folder: Path) -> dict[str, Sample]:
    urls = [shard["url"] for shard in read_manifest(folder)["shards"]]
    return {sample.id: sample for url in urls for sample in read_shard(folder / url)}


class Policy:
    """Says what was taken, no action, another twice and a third, in this order; then `more`."""

    def __init__(self, version: str = "policy@1", more: str = "Thought: t.\n\nAction: GoBack") -> None:
        self.version, self.more, self.asked = version, more, []

    def __call__(self, request: Request) -> tuple[int, Any]:
        if request.path == "/health":
            return 200, {"weights_version": self.version}
        if request.method == "GET":
            return 405, None
        self.asked.append(request.body)
        own = [body for body in self.asked if body["images"] == request.body["images"]]
        replies = [TAKEN, "I would click.", "Thought: a.\n\nAction: Click [3]", "Thought: b.\n\nAction: Click [3]"]
        text = replies[len(own) - 1] if len(own) <= len(replies) else self.more
        return 200, {"text": text, "token_ids": [len(own)], "weights_version": self.version}


def test_candidates_differ_in_their_actions_and_digiq_takes_the_best(tmp_path: Path) -> None:
    _, _, shards = tries(tmp_path, num_steps=1)
    [first, second], output = sorted(read(shards)), tmp_path / "candidates.parquet"
    policy = Policy()
    with answering(policy) as url:
        config = CandidatesConfig(
            dataset_path=shards, output=output, api_localhost=(f"{url}/predict",), num_candidates=5
        )
        main(config)
    rows = {row["id"]: row for row in parquet.read_table(output).to_pylist()}
    assert len({body["seed"] for body in policy.asked}) == len(policy.asked) == 10  # one reply was drawn again
    assert all(body["images"] and len(body["conversations"]) == 1 for body in policy.asked)
    expected = ["Thought: a.\n\nAction: Click [3]", "Thought: t.\n\nAction: GoBack"]
    assert sorted(rows) == [first, second]
    assert rows[first]["candidates"] == expected and rows[first]["candidate_token_ids"] == [[3], [5]]
    assert read_record(output)["policy"] == "policy@1"

    more = pack(tmp_path, "more", candidates=str(output), share_images=True)
    samples = read(more)
    assert sorted(samples) == sorted(f"{key}{end}" for key in (first, second) for end in ("", "--c1", "--c2"))
    drawn = samples[f"{first}--c2"]
    assert drawn.conversations[-1]["value"] == expected[1] and drawn.images == samples[first].images
    assert drawn.extra["candidate"] == 2 and drawn.extra["token_ids"] == [5] and "logprobs" not in drawn.extra

    q = {first: 0.3, f"{first}--c1": 0.9, f"{first}--c2": 0.1, second: 0.2, f"{second}--c1": 0.1, f"{second}--c2": 0.25}
    values = {name: list(q.values()) for name in ("q_1", "q_2")} | {name: [0.2] * 6 for name in ("value_1", "value_2")}
    parquet.write_table(pyarrow.table({"id": list(q), **values}), tmp_path / "critic.parquet")
    files = str(tmp_path / "critic.parquet")
    make_columns(MakeColumnsConfig(more, tmp_path / "digiq.parquet", "digiq", column_files=files))
    weights = {row["id"]: row["weight"] for row in parquet.read_table(tmp_path / "digiq.parquet").to_pylist()}
    assert {key for key, weight in weights.items() if weight} == {f"{first}--c1"}  # the other best gains 0.05 only
    kept = pack(tmp_path, "kept", candidates=str(output), weights=str(tmp_path / "digiq.parquet"))
    assert list(read(kept)) == [f"{first}--c1"]


def test_bad_input_is_one_line_and_nothing_is_overwritten(tmp_path: Path) -> None:
    _, _, shards = tries(tmp_path)
    output = tmp_path / "candidates.parquet"
    with pytest.raises(UserError, match="--api_localhost is missing"):
        main(CandidatesConfig(dataset_path=shards, output=output))
    with answering(Policy()) as url:
        config = {"dataset_path": shards, "output": output, "api_localhost": (f"{url}/predict",), "num_candidates": 3}
        main(CandidatesConfig(**config))
        before = output.read_bytes()
        main(CandidatesConfig(**config))
        with pytest.raises(UserError, match="different num_candidates; give another --output"):
            main(CandidatesConfig(**{**config, "num_candidates": 4}))
    with answering(Policy("policy@2")) as url, pytest.raises(UserError, match="different policy; give another --outp"):
        main(CandidatesConfig(**{**config, "api_localhost": (f"{url}/predict",)}))
    assert output.read_bytes() == before
    drawn = tmp_path / ".new.parquet.drawn"
    drawn.write_text(json.dumps(read_record(output)) + "\n")
    with answering(Policy("policy@2")) as url, pytest.raises(UserError, match=f"{drawn}: was made with different poli"):
        main(CandidatesConfig(**{**config, "output": tmp_path / "new.parquet", "api_localhost": (f"{url}/predict",)}))
    assert drawn.exists()

    records = json.loads((tmp_path / "samples.json").read_text())
    records[0]["conversations"][0]["value"] += " now"
    (tmp_path / "samples.json").write_text(json.dumps(records))
    with pytest.raises(UserError, match=f"candidates.parquet: was made for other samples than {records[0]['id']}"):
        pack(tmp_path, "more", candidates=str(output))
    parquet.write_table(pyarrow.table({"id": ["x"], "weight": [1.0]}), tmp_path / "weights.parquet")
    with pytest.raises(UserError, match=r"weights.parquet: has no column candidate_token_ids; make it with coll"):
        pack(tmp_path, "more", candidates=str(tmp_path / "weights.parquet"))
    assert not (tmp_path / "more").exists()


def clicked(x: int) -> str:
    call = {"name": "computer_use", "arguments": {"action": "left_click", "coordinate": [x, 200]}}
    return f"<tool_call>\n{json.dumps(call)}\n</tool_call>"


SPOKEN = {
    "webrl": ('do(action="Click", element="3")', 'exit(message="blue")'),
    "qwen_computer_use": (clicked(100), clicked(300)),
}


@pytest.mark.parametrize("space", SPOKEN)
def test_candidates_are_read_in_the_action_space_that_the_policy_speaks(space: str, tmp_path: Path) -> None:
    """The same action twice is one candidate; what is none of it is drawn again."""
    first, second = SPOKEN[space]
    replies = itertools.cycle([first, "I would click.", second, first])
    _, _, shards = tries(tmp_path, num_steps=1)
    with answering(saying(lambda: next(replies))) as url:
        config = {"dataset_path": shards, "api_localhost": (f"{url}/predict",), "num_candidates": 4, "num_sessions": 1}
        main(CandidatesConfig(**config, output=tmp_path / "candidates.parquet", action_space=space))
    rows = parquet.read_table(tmp_path / "candidates.parquet").to_pylist()
    assert [row["candidates"] for row in rows] == [[first, second]] * 2
    assert read_record(tmp_path / "candidates.parquet")["action_space"] == space


def test_where_no_reply_is_an_action_it_is_said_and_nothing_is_written(tmp_path: Path) -> None:
    _, _, shards = tries(tmp_path, num_steps=1)
    before = sorted(tmp_path.iterdir())
    with answering(saying(lambda: SPOKEN["webrl"][0])) as url:
        config = {"dataset_path": shards, "api_localhost": (f"{url}/predict",), "num_candidates": 4}
        said = "none of 6 replies is an action of --action_space webvoyager; give the one that the policy speaks"
        with pytest.raises(UserError, match=said):
            main(CandidatesConfig(**config, output=tmp_path / "candidates.parquet"))
    assert sorted(tmp_path.iterdir()) == before
    with pytest.raises(UserError, match="there is no action space 'clicks'; known are"):
        CandidatesConfig(**config, action_space="clicks")


def test_coordinates_need_a_screenshot(tmp_path: Path) -> None:
    sample = Sample("Shop--00001--r02--step01", [{"from": "human", "value": "Go."}], [])
    with pytest.raises(UserError, match="step01: shows no screenshot, on which --action_space qwen_computer_use poin"):
        screen_of(sample, action_space("qwen_computer_use"))


def saying(reply: Callable[[], str]) -> Callable[[Request], tuple[int, Any]]:
    """A server whose policy says that."""

    def answer(request: Request) -> tuple[int, Any]:
        if request.method == "GET":
            return (200, {"weights_version": "policy@1"}) if request.path == "/health" else (405, None)
        return 200, {"text": reply(), "token_ids": [1], "weights_version": "policy@1"}

    return answer


@pytest.mark.slow
def test_a_killed_command_goes_on_and_leaves_the_same_file(tmp_path: Path) -> None:
    """Over the real server and the shipped starting policy, which answers in the form that the parser takes."""
    _, _, shards = tries(tmp_path, num_steps=3)
    policy = ROOT / "examples" / "quickstart" / "starting_policy" / "weights"
    output, drawn = tmp_path / "candidates.parquet", tmp_path / ".candidates.parquet.drawn"
    with running_server(policy, "--dtype", "float32", "--max_new_tokens", "48") as server:
        flags = ["--dataset_path", shards, "--num_candidates", 4, "--num_sessions", 1, "--api_localhost"]
        command = [sys.executable, "collection/sample_candidates.py", *map(str, flags), f"{server.url}/predict"]
        options = {"cwd": ROOT, "env": tiny.environment(), "start_new_session": True}
        child = subprocess.Popen([*command, "--output", str(output)], **options)
        deadline = time.monotonic() + 120
        while not (drawn.exists() and len(drawn.read_bytes().splitlines()) > 2) and time.monotonic() < deadline:
            time.sleep(0.01)
        os.killpg(child.pid, signal.SIGKILL)
        assert child.wait() == -signal.SIGKILL and drawn.exists() and not output.exists()
        num_done = len(drawn.read_bytes().splitlines()) - 1
        assert 2 <= num_done < 6
        for path in (output, tmp_path / "never_killed.parquet"):
            subprocess.run([*command, "--output", str(path)], check=True, timeout=200, **options)
    assert output.read_bytes() == (tmp_path / "never_killed.parquet").read_bytes() and not drawn.exists()
    rows = parquet.read_table(output).to_pylist()
    assert len(rows) == 6 and any(row["candidates"] for row in rows)
    for row in rows:
        taken, *actions = (actions_of(reply, action_space(NUMBERS), None) for reply in (TAKEN, *row["candidates"]))
        assert None not in actions and taken not in actions
