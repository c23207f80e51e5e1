"""`elcano show` on whatever lies around."""

from pathlib import Path

import pytest

from elcano.folders import describe_folder


@pytest.mark.parametrize(
    ("file", "said"),
    [
        ("config.json", "a Hugging Face checkpoint"),
        ("latest_checkpointed_iteration.txt", "a Megatron checkpoint"),
        ("manifest.json", "python toolkits/inspect_shards.py"),
        ("taskshop--1/steps.jsonl", "python collection/run.py --status"),
        ("quickstart/stages/x.json", "runs lie in it: elcano show"),
        ("policy/config.json", "in it, policy is a Hugging Face checkpoint"),
        ("checkpoint/run/latest_checkpointed_iteration.txt", "in it, checkpoint/run is a Megatron checkpoint"),
        ("notes.txt", "nothing in it is of Elcano's making"),
    ],
)
def test_a_folder_is_named_with_the_command_that_tells_more(tmp_path: Path, file: str, said: str) -> None:
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).write_text("{}")
    assert said in describe_folder(tmp_path)
    assert describe_folder(tmp_path / file) == "it is a file"
    assert describe_folder(tmp_path / "nowhere") == "there is no such folder"
