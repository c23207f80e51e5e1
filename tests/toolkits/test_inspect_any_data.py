"""inspect_data.py on everything that the toolkit reads: duplicates, leaks between splits, lengths, a report to open."""

import base64
import io
import itertools
import json
from pathlib import Path

import pytest
from PIL import Image

from common.defaults import STARTING_POLICY
from common.errors import UserError
from common.files import read_json
from data.actions.screen import Screen
from data.shards.shard import Sample, write_shards
from tests import tiny
from tests.toolkits.foreign_folders import FOREIGN
from tests.toolkits.interchange import ALL_OUT, export, write_samples
from tests.toolkits.research import RESEARCH
from tests.toolkits.test_mix_data import picture, step
from tests.toolkits.test_mix_data import write_samples as write_few
from tests.training.batches.test_foreign_tars import own
from toolkits import export_data
from toolkits.inspect_data import Config, main
from toolkits.readers.formats import FORMATS
from toolkits.samples.action_kinds import action_kinds
from toolkits.samples.tiles import Tiles
from training.launch.survey import Reading, check_samples

NAMED = {"pae": "pae", "webrl": "webrl_traces", "digirl": "digirl", "digiq": "digiq"}
"""Formats that do not show."""
FROM_OUTSIDE = {"messages": "train.jsonl", "ms_swift": "train.jsonl", "llava": "train.json", "verl": "train.parquet"}


def numbers_of(data: tuple[str, ...], out: Path, **options: object) -> dict:
    main(Config(data, output=str(out / "report.json"), **options))
    return json.loads((out / "report.json").read_text())


def held(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@pytest.mark.parametrize("name", [*RESEARCH, *FOREIGN])
def test_others_sets_and_logs(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    files = (RESEARCH.get(name) or FOREIGN[name])(folder)
    before = held(folder)
    data = tuple(str(folder / file) for file in files or [""])
    told = numbers_of(data, tmp_path, image_dir=str(folder), format=NAMED.get(name, "auto"))
    assert told["samples"] and told["images"] and told["actions"] and len(told["tiles"]) == told["samples"]
    assert held(folder) == before  # a look leaves nothing behind


@pytest.mark.parametrize("kind", ALL_OUT)
def test_others_sample_files(kind: str, tmp_path: Path) -> None:
    samples, images = write_samples(tmp_path)
    ours = numbers_of((str(samples),), tmp_path, image_dir=str(images))
    out = export(kind, samples, images, tmp_path / "out")
    found = numbers_of((str(out / FROM_OUTSIDE.get(kind, "")),), tmp_path, image_dir=str(out))
    same = ("samples", "steps", "images", "distinct images", "distinct image bytes", "actions", "turns", "image sizes")
    assert {name: found[name] for name in same} == {name: ours[name] for name in same}


def test_trajectories_are_looked_at_as_their_samples(tmp_path: Path) -> None:
    samples, images = write_samples(tmp_path)
    ours = numbers_of((str(samples),), tmp_path, image_dir=str(images))
    found = numbers_of((str(tmp_path / "results"),), tmp_path)
    assert {**found, "data": "", "sites": {}} == {**ours, "data": "", "sites": {}}


def test_duplicates_and_leaks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_few(tmp_path, "train", [(step(1), 1, "Click [1]"), (step(2), 1, "Click [1]"), (step(3), 3, "Click [2]")])
    write_few(tmp_path, "test", [(step(7), 1, "Click [1]"), (step(3, 2), 4, "Click [9]"), (step(8), 5, "Click [9]")])
    picture(tmp_path / "again.jpg", 3, "JPEG")
    for name, identifier in (("train", step(4)), ("test", step(9))):  # another file of what train shows, with its reply
        records = json.loads((tmp_path / f"{name}.json").read_text())
        turns = [
            {"from": "human", "value": f"{name} <image>"},
            {"from": "gpt", "value": "Thought: t\n\nAction: Click [2]"},
        ]
        records.append({"id": identifier, "images": ["again.jpg"], "conversations": turns})
        (tmp_path / f"{name}.json").write_text(json.dumps(records))
    test = (str(tmp_path / "test.json"),)
    told = numbers_of((str(tmp_path / "train.json"),), tmp_path, against=test)
    assert told["samples that are exact duplicates"] == told["samples that are near duplicates"] == 1
    assert (told["distinct images"], told["distinct looks of images"]) == (3, 2)
    counts = {"the same": 1, "alike": 2, "of the same task": 1, "with the same screenshot": 2}
    assert told["leaks"] == {"against samples found in train": {**counts, "first": [step(7), step(3, 2), step(9)]}}
    assert "against samples found in train: the same 1" in " ".join(capsys.readouterr().out.split())
    told = numbers_of((str(tmp_path / "train.json"),), tmp_path, near_duplicates=False)
    assert "distinct looks of images" not in told and told["samples that are exact duplicates"] == 1


def test_leaks_into_what_shards_hold_out(tmp_path: Path) -> None:
    folder = tmp_path / "shards"
    folder.mkdir()
    turns = [{"from": "human", "value": "?"}, {"from": "gpt", "value": "Thought: t\n\nAction: Wait"}]
    write_shards(folder, [Sample(step(at), turns, []) for at in (1, 2)], 1, {})
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["shards"][0]["split"] = "val"
    (folder / "manifest.json").write_text(json.dumps(manifest))
    told = numbers_of((str(folder),), tmp_path)
    assert told["samples by split"] == {"train": 1, "val": 1}
    assert told["leaks"]["val samples found in train"]["the same"] == 1


def test_lengths_are_those_of_training(tmp_path: Path) -> None:
    shards = own(tmp_path, [tiny.sample(number, num_words=20 * number) for number in range(1, 8)])
    told = numbers_of((str(shards),), tmp_path, model=str(STARTING_POLICY), seq_len=2**16)
    middle, longest = told["tokens (median, longest)"]
    assert middle < longest and sum(told["tokens by length"].values()) == 7
    assert told["samples cut at SEQ_LEN=65536"] == told["samples that training refuses"] == 0
    told = numbers_of((str(shards),), tmp_path, model=str(STARTING_POLICY), seq_len=middle)
    check_samples(shards, Reading(STARTING_POLICY, middle, 3), skip=7)
    [noted] = map(read_json, (shards / ".survey").glob("*.json"))
    assert told["tokens (median, longest)"] == [middle, longest]
    assert told[f"samples cut at SEQ_LEN={middle}"] == noted["num_shortened"] > 0
    assert told["samples that training refuses"] == len(noted["bad"])


def test_kinds_of_actions_are_ours_in_every_space() -> None:
    screen = Screen((1000, 1000), (1000, 1000))
    click = {"name": "computer_use", "arguments": {"action": "left_click", "coordinate": [5, 5]}}
    call = f"<tool_call>\n{json.dumps(click)}\n</tool_call>"
    assert action_kinds(f"Thought\n{call}", screen) == ["ClickAt"]
    assert action_kinds("Thought: t\nAction: click(point='<point>5 5</point>')", screen) == ["ClickAt"]
    assert action_kinds("Thought: t\n\nAction: Click [3]", screen) == ["Click"]
    assert action_kinds("nothing", screen) == ["unreadable"]


def test_tiles_are_spread_over_a_stream_of_any_length(tmp_path: Path) -> None:
    picture(tmp_path / "a.png", 1)
    turns = [{"from": "human", "value": "<image>"}, {"from": "gpt", "value": "x"}]
    tiles = Tiles(6)
    for number in range(100):
        tiles.offer(Sample(str(number), turns, [tmp_path / "a.png"]))
    kept = [int(name) for _, name, _ in tiles.kept]
    assert 3 <= len(kept) <= 6 and len({b - a for a, b in itertools.pairwise(kept)}) == 1 and kept[-1] > 50


def test_the_report_holds_pictures(tmp_path: Path) -> None:
    write_few(tmp_path, "a", [(step(1), 1, "Click [1]")])
    [tile] = numbers_of((str(tmp_path / "a.json"),), tmp_path)["tiles"]
    assert (tile["id"], tile["action"]) == (step(1), "Click [1]")
    assert Image.open(io.BytesIO(base64.b64decode(tile["jpeg"]))).size == (64, 48)
    assert set(FORMATS) >= {*RESEARCH}


def test_tasks_that_every_file_counts_from_one_are_not_shared(tmp_path: Path) -> None:
    found = []
    for name in ("train", "test"):
        (tmp_path / name).mkdir()
        found.append(str(tmp_path / name / RESEARCH["os_atlas"](tmp_path / name)[0]))
    folders = {"image_dir": str(tmp_path / "train"), "against_image_dir": str(tmp_path / "test")}
    told = numbers_of((found[0],), tmp_path, against=(found[1],), **folders)
    leak = told["leaks"]["against samples found in train"]
    assert leak["the same"] == 2 and "of the same task" not in leak


def test_folders_of_atif(tmp_path: Path) -> None:
    write_samples(tmp_path)
    ours = numbers_of((str(tmp_path / "results"),), tmp_path)
    export_data.main(export_data.Config("atif", str(tmp_path / "out"), result_dir=str(tmp_path / "results")))
    found = numbers_of((str(tmp_path / "out"),), tmp_path)
    assert (found["samples"], found["actions"]) == (ours["samples"], ours["actions"])


def test_a_sample_without_turns_is_one_line(tmp_path: Path) -> None:
    folder = tmp_path / "shards"
    folder.mkdir()
    with pytest.raises(UserError, match="sample a: has no turns"):
        write_shards(folder, [Sample("a", [], [])], 1, {})


@pytest.mark.parametrize(("identifier", "opening"), [(7, []), ("7", [{"from": "system", "value": "You look."}])])
def test_llava_files_with_the_fields_of_ours_are_read_as_imports_read_them(
    tmp_path: Path, identifier: object, opening: list[dict[str, str]]
) -> None:
    picture(tmp_path / "a.png", 1)
    turns = [*opening, {"from": "human", "value": "<image>"}, {"from": "gpt", "value": "A shop."}]
    record = {"id": identifier, "images": ["a.png"], "conversations": turns}
    (tmp_path / "a.json").write_text(json.dumps([record]))
    assert numbers_of((str(tmp_path / "a.json"),), tmp_path)["samples"] == 1
