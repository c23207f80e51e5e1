"""inspect_data.py: true counts, a picture, and damage noticed."""

import json
from pathlib import Path

import pytest
from PIL import Image

from common.errors import UserError
from data.shards.shard import Sample, write_shards
from tests.toolkits.trajectories import screenshot
from toolkits.inspect_data import Config, main
from toolkits.samples.action_kinds import action_name


def write(folder: Path, share_images: bool = False) -> Path:
    folder.mkdir()
    actions = ["Click [3]", "Click [4]", "ANSWER; blue", "nonsense"]
    samples = [
        Sample(
            f"Shop--0000{number // 2}--r01--step0{number % 2 + 1}",
            [
                {"from": "human", "value": "Find é. <image><image>"},
                {"from": "gpt", "value": f"Thought: t\n\nAction: {action}"},
            ],
            [screenshot(0), screenshot(number)],
            {"weight": 0.5, "step": number, **({"token_ids": [5, 6]} if number else {})},
        )
        for number, action in enumerate(actions)
    ]
    write_shards(folder, samples, 3, {}, share_images)
    return folder


def test_numbers_and_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = Config((str(write(tmp_path / "shards")),), str(tmp_path / "sheet.png"), 4, output=str(tmp_path / "x.json"))
    main(config)
    numbers = json.loads((tmp_path / "x.json").read_text())
    assert (numbers["samples"], numbers["tasks"], numbers["shards"], numbers["checksums"]) == (4, 2, 2, "good")
    assert (numbers["images"], numbers["distinct images"]) == (8, 4)
    assert numbers["actions"] == {"Click": 2, "Answer": 1, "unreadable": 1}
    assert numbers["image sizes"] == {"32x24": 4} and numbers["turns"] == {"1": 4}
    assert numbers["columns"] == {"weight": 4, "step": 4, "token_ids": 3}  # samples that have them
    with Image.open(tmp_path / "sheet.png") as sheet:
        assert sheet.size == (4 * 256, 222) and len(sheet.getcolors(1 << 20)) > 4
    assert "Click: 2" in capsys.readouterr().out


def test_all_steps_of_a_whole_trajectory_count(tmp_path: Path) -> None:
    folder = tmp_path / "shards"
    folder.mkdir()
    said = [f"Thought: t\n\nAction: {action}" for action in ("Click [3]", "Click [4]", "ANSWER; blue")]
    turns = [turn for action in said for turn in ({"from": "human", "value": "?"}, {"from": "gpt", "value": action})]
    earlier = [{"id": f"Shop--00001--r01--step0{number}"} for number in (1, 2)]
    write_shards(folder, [Sample("Shop--00001--r01--step03", turns, [], {"earlier_steps": earlier})], 1, {})
    main(Config((str(folder),), output=str(tmp_path / "x.json")))
    numbers = json.loads((tmp_path / "x.json").read_text())
    assert (numbers["samples"], numbers["steps"]) == (1, 3) and numbers["actions"] == {"Click": 2, "Answer": 1}
    odd = tmp_path / "odd"
    odd.mkdir()
    write_shards(odd, [Sample("Shop--00001--r01--step03", turns, [], {"earlier_steps": 5})], 1, {})
    with pytest.raises(UserError, match="earlier_steps must be a list"):
        main(Config((str(odd),)))


@pytest.mark.parametrize("share_images", [False, True])
def test_it_says_whether_samples_share_images(tmp_path: Path, share_images: bool) -> None:
    folder = write(tmp_path / "shards", share_images)
    manifest = json.loads((folder / "manifest.json").read_text())
    answers = [shared_images(folder)]
    for version in (3, 1):  # as older converters wrote them: the first never shared, later ones always did
        old = {**manifest, "format_version": version}
        del old["share_images"]
        (folder / "manifest.json").write_text(json.dumps(old))
        answers.append(shared_images(folder))
    assert answers == ["yes" if share_images else "no", "yes", "no"]


def shared_images(folder: Path) -> str:
    main(Config((str(folder),), output=str(folder / "x.json")))
    return json.loads((folder / "x.json").read_text())["images shared among samples"]


def test_actions_written_as_calls_count_too() -> None:
    assert action_name("# Element: the box\ndo(action='Click', element='3')") == "do"
    assert action_name("exit(message='x')") == "exit"
    assert action_name("Thought: t\nAction: left_double(point='<point>1 2</point>')") == "left_double"
    assert action_name('<tool_call>\n{"name": "click", "arguments": {}}\n</tool_call>') == "click"
    reply = '<tool_call>\n{"name": "computer_use", "arguments": {"action": "left_click"}}\n</tool_call>'
    assert action_name(reply) == "left_click"


def test_damage_is_an_error(tmp_path: Path) -> None:
    folder = write(tmp_path / "shards")
    tar = folder / "elcano-000000.tar"
    content = bytearray(tar.read_bytes())
    content[600] ^= 1
    tar.write_bytes(content)
    with pytest.raises(UserError, match=r"elcano-000000\.tar: its checksum is not the one"):
        main(Config((str(folder),)))
    with pytest.raises(UserError, match="not a shard folder"):
        main(Config((str(tmp_path),)))


def test_the_released_folder(field_files: Path, tmp_path: Path) -> None:
    main(Config((str(field_files / "tar"),), output=str(tmp_path / "x.json")))
    numbers = json.loads((tmp_path / "x.json").read_text())
    names = [sample["images"] for sample in json.loads((field_files / "json" / "example.json").read_text())]
    distinct = len({name for sample in names for name in sample})
    assert (numbers["samples"], numbers["images"]) == (len(names), sum(map(len, names)))
    assert numbers["distinct images"] == distinct and numbers["image sizes"] == {"1024x768": distinct}
