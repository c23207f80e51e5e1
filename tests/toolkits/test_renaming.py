"""renaming.py: another name is the same name everywhere in a sample, and a sample has the same ones every time."""

import json
from pathlib import Path

from data.outcome import Verdict
from tests.toolkits.trajectories import write_trajectory
from toolkits.convert_trajectories_to_json import Config, main
from toolkits.renaming import rename

TREE = (
    "[1] RootWebArea 'Chess club - Campfire'\n\t[2] link 'Chess'\n\t[3] link 'Chess club'\n"
    "\t[4] StaticText 'Chessboard'"
)
SAMPLE = {
    "id": "Forum-author-IL--00001--r01--step01",
    "conversations": [
        {"from": "human", "value": f'On "Chess", find "Chess club" and take "3".\nOBSERVATION:\n<image>\n{TREE}'},
        {"from": "gpt", "value": "Thought: I should click 'Chess'.\n\nAction: Click [2]"},
    ],
    "token_ids": [1, 2],
    "logprobs": [-0.1, -0.2],
    "weights_version": "a",
    "reward": 1.0,
}


def test_a_name_is_another_one_in_task_page_and_reply_and_longer_names_stay_whole() -> None:
    changed = rename(SAMPLE, 1.0)
    asked, reply = (turn["value"] for turn in changed["conversations"])
    board, club, count = (part.partition('"')[0] for part in asked.split(' "')[1:])
    assert count == "3"
    assert "Chess" not in (board, club)
    assert board != club
    lines = [f"RootWebArea '{club} - Campfire'", f"link '{board}'", f"link '{club}'", "StaticText 'Chessboard'"]
    assert [line.split("] ")[1] for line in asked.splitlines()[3:]] == lines
    assert reply == f"Thought: I should click '{board}'.\n\nAction: Click [2]"
    assert {**changed, "conversations": 0} == {"id": SAMPLE["id"], "reward": 1.0, "conversations": 0}
    assert rename(SAMPLE, 1.0) == changed
    assert rename({**SAMPLE, "id": "another"}, 1.0)["conversations"] != changed["conversations"]


def test_nothing_to_rename_leaves_a_sample_as_it_was() -> None:
    assert rename(SAMPLE, 0.0) == SAMPLE
    plain = {**SAMPLE, "conversations": [{"from": "human", "value": f"Find a shoe.\nOBSERVATION:\n<image>\n{TREE}"}]}
    assert rename(plain, 1.0) == plain


def test_about_that_share_is_renamed() -> None:
    samples = [rename({**SAMPLE, "id": f"s{number}"}, 0.6) for number in range(400)]
    renamed = sum('On "Chess"' not in sample["conversations"][0]["value"] for sample in samples)
    assert 200 < renamed < 280


def test_the_converter_renames(tmp_path: Path) -> None:
    folder = write_trajectory(tmp_path / "results", "Shop--3", verdict=Verdict.SUCCESS)
    about = json.loads((folder / "trajectory.json").read_text())
    about["task"]["ques"] = 'Find a "shoe".'
    (folder / "trajectory.json").write_text(json.dumps(about))
    main(Config(str(tmp_path / "results"), str(tmp_path / "images"), str(tmp_path / "all.json"), rename_share=1.0))
    for sample in json.loads((tmp_path / "all.json").read_text()):
        name = sample["conversations"][0]["value"].split('"')[1]
        assert name != "shoe"
        assert f"link '{name}'" in sample["conversations"][-2]["value"]
