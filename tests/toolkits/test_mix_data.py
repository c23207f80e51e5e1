"""A mix keeps what its file declares, in bounded memory; killed, it goes on; its hash stands in the manifest."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from PIL import Image

from common.errors import UserError
from data.shards.mix_file import mix_digest, read_mix, shards_of_mix
from data.shards.shard import Sample, read_manifest, read_shard
from tests.conftest import ROOT
from tests.toolkits.research import RESEARCH
from tests.toolkits.trajectories import write_trajectory
from toolkits import convert_to_tar_data as tar_tool
from toolkits import convert_trajectories_to_json as samples_tool
from toolkits import import_data, mix_data
from toolkits.samples.sources import Source, open_samples


def picture(path: Path, number: int, kind: str = "PNG") -> None:
    """Stripes that look different for each number."""
    image = Image.new("L", (64, 48))
    image.putdata([(x // (number + 2) * 37 + y // (number % 5 + 3) * 53) % 256 for y in range(48) for x in range(64)])
    image.convert("RGB").save(path, kind)


def write_samples(folder: Path, name: str, records: list[tuple[str, int, str]]) -> None:
    """`<name>.json` of (id, number of its picture, what is said), with pictures beside it."""
    made = []
    for identifier, number, said in records:
        image = f"{number}.png"
        if not (folder / image).exists():
            picture(folder / image, number)
        turns = [
            {"from": "human", "value": "Find it. <image>"},
            {"from": "gpt", "value": f"Thought: t\n\nAction: {said}"},
        ]
        made.append(
            {"id": identifier, "images": [image], "conversations": turns, "outcome": "success" if number else "failure"}
        )
    (folder / f"{name}.json").write_text(json.dumps(made))


def mixed(folder: Path, text: str, **options: object) -> tuple[dict[str, list[Sample]], dict]:
    """(samples by split, the manifest) of the mix that `text` declares."""
    (folder / "mix.toml").write_text(text)
    shards = folder / "shards"
    mix_data.main(mix_data.Config(str(folder / "mix.toml"), str(shards), num_workers=1))
    manifest = read_manifest(shards, verify=True)
    found: dict[str, list[Sample]] = {"train": [], "val": []}
    for entry in manifest["shards"]:
        found[entry.get("split", "train")] += read_shard(shards / entry["url"])
    return found, manifest


def step(task: int, number: int = 1, site: str = "Shop") -> str:
    return f"{site}--{task:05d}--r01--step{number:02d}"


def test_duplicates_caps_filters_and_weights(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_samples(
        tmp_path,
        "a",
        [(step(1), 1, "Click [1]"), (step(2), 1, "Click [1]"), (step(3), 2, "Click [2]"), (step(4), 0, "Click [3]")],
    )
    write_samples(tmp_path, "b", [(step(at, site="Maps"), at + 10, f"Click [{at}]") for at in range(8)])
    found, manifest = mixed(
        tmp_path,
        """
        most_per_site = 5
        [[source]]
        path = "a.json"
        where = { outcome = "success" }
        [[source]]
        path = "b.json"
        weight = 2
        """,
    )
    kept = sorted(sample.id for sample in found["train"])
    assert kept[:5] == [step(at, site="Maps") for at in range(5)] and kept[5:7] == [step(1), step(3)]
    assert kept[7:] == [f"x2--{step(at, site='Maps')}" for at in range(5)]
    told = manifest["source"]["mix"]
    assert told["sha256"] == mix_digest(tmp_path / "mix.toml")
    left_out = {"exact duplicates": 1, "not as `where` asks": 1}
    assert told["sources"] == [
        {"path": "a.json", "read": 4, "kept": 2, "written": {"train": 2}, "left_out": left_out},
        {"path": "b.json", "read": 8, "kept": 5, "written": {"train": 10}, "left_out": {"over the cap of a site": 3}},
    ]
    assert "over the cap of a site (3)" in capsys.readouterr().out
    made_at = (tmp_path / "shards" / "manifest.json").stat().st_mtime_ns
    mix_data.main(mix_data.Config(str(tmp_path / "mix.toml"), str(tmp_path / "shards")))
    assert (tmp_path / "shards" / "manifest.json").stat().st_mtime_ns == made_at  # the same: nothing is done


def test_a_picture_that_changes_makes_it_anew(tmp_path: Path) -> None:
    """One of an `image_dir` that the mix names; what else lies there counts nothing."""
    (tmp_path / "seen").mkdir()
    write_samples(tmp_path / "seen", "a", [(step(1), 1, "Click [1]")])
    (tmp_path / "seen" / "a.json").rename(tmp_path / "a.json")
    file = tmp_path / "mix.toml"
    file.write_text('[[source]]\npath = "a.json"\nimage_dir = "seen"\n')
    before = shards_of_mix(file)
    (tmp_path / "seen" / "note.txt").write_text("x")
    assert shards_of_mix(file) == before
    picture(tmp_path / "seen" / "1.png", 2)
    assert shards_of_mix(file) != before


def test_a_site_is_the_same_of_trajectories_and_of_their_shards(tmp_path: Path) -> None:
    """Of our own by their ids, of imported ones by where their task begins."""
    write_trajectory(tmp_path / "ours", "Shop--3")
    (tmp_path / "set").mkdir()
    files = tuple(str(tmp_path / "set" / file) for file in RESEARCH["fara"](tmp_path / "set"))
    theirs = {"result_dir": str(tmp_path / "theirs"), "action_space": "openwebrl"}
    import_data.main(import_data.Config("fara", files, str(tmp_path / "set"), **theirs))
    for name, sites in (("ours", {"Shop"}), ("theirs", {"shop.example"})):
        samples, images = str(tmp_path / f"{name}.json"), str(tmp_path / f"{name}-images")
        made = {"result_dir": str(tmp_path / name), "image_dir": images, "save_json_file": samples, "num_workers": 1}
        samples_tool.main(samples_tool.Config(**made, only_success=False))
        shards = str(tmp_path / f"{name}-shards")
        tar_tool.main(tar_tool.Config((samples,), (images,), shards, num_workers=1))
        for path in (tmp_path / name, Path(samples), Path(shards)):
            source = Source(path, image_dir=Path(images))
            assert {found.site for found in open_samples(source, tmp_path)} == sites


def test_pictures_that_look_alike_and_splits_that_stay_apart(tmp_path: Path) -> None:
    write_samples(tmp_path, "test", [(step(1), 1, "Click [1]")])
    write_samples(
        tmp_path, "train", [(step(1, 2), 2, "Click [2]"), (step(3), 3, "Click [3]"), (step(4), 4, "Click [1]")]
    )
    picture(tmp_path / "again.jpg", 3, "JPEG")
    records = json.loads((tmp_path / "train.json").read_text())
    records.append({**records[1], "id": step(5), "images": ["again.jpg"]})  # another file, the same picture and reply
    records.append({**records[2], "id": step(6), "images": ["1.png"]})  # what the test shows and says
    (tmp_path / "train.json").write_text(json.dumps(records))
    declared = '[[source]]\npath = "test.json"\nvalidation = true\n[[source]]\npath = "train.json"\n'
    found, manifest = mixed(tmp_path, declared)
    assert [sample.id for sample in found["val"]] == [step(1)]
    assert sorted(sample.id for sample in found["train"]) == [step(3), step(4)]
    told = manifest["source"]["mix"]["sources"][1]["left_out"]
    assert told == {"near duplicates": 1, "also in val": 2}
    found, manifest = mixed(tmp_path, f'dedupe = "exact"\n{declared}')
    assert len(found["train"]) == 3 and manifest["source"]["mix"]["sources"][1]["left_out"] == {"also in val": 2}


def test_others_data_and_ours_in_one_mix(tmp_path: Path) -> None:
    file = RESEARCH["screenspot"](tmp_path)[0]
    write_samples(tmp_path, "ours", [(step(1), 1, "Click [1]")])
    declared = f"""
        [[source]]
        path = "{file}"
        image_dir = "."
        action_space = "ui_tars"
        actions = ["ClickAt"]
        [[source]]
        path = "ours.json"
        """
    found, _ = mixed(tmp_path, declared)
    assert len(found["train"]) == 2 and any("click(" in one.conversations[-1]["value"] for one in found["train"])
    assert not list(tmp_path.glob(".*.mix"))


def test_actions_are_read_on_the_sample_s_own_screen(tmp_path: Path) -> None:
    """Phones are larger than browsers."""
    said = 'Reason: So.\nAction: {"action_type": "click", "x": 500, "y": 2000}'
    turns = [{"from": "human", "value": "<image>"}, {"from": "gpt", "value": said}]
    Image.new("RGB", (1080, 2400)).save(tmp_path / "phone.png")
    (tmp_path / "a.json").write_text(json.dumps([{"id": step(1), "images": ["phone.png"], "conversations": turns}]))
    assert len(mixed(tmp_path, '[[source]]\npath = "a.json"\nactions = ["ClickAt"]\n')[0]["train"]) == 1


def test_shards_in_the_place_of_something_else_are_refused_first(tmp_path: Path) -> None:
    write_samples(tmp_path, "a", [(step(1), 1, "Click [1]")])
    mixed(tmp_path, '[[source]]\npath = "a.json"\n')
    before = sorted((tmp_path / "shards").iterdir())
    with pytest.raises(UserError, match=r"shards: a source of the mix is there; give another folder"):
        mixed(tmp_path, '[[source]]\npath = "shards"\n')
    assert sorted((tmp_path / "shards").iterdir()) == before
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.txt").write_text("mine")
    with pytest.raises(UserError, match="something else than a shard folder is there"):
        mix_data.main(mix_data.Config(str(tmp_path / "mix.toml"), str(tmp_path / "notes")))


@pytest.mark.parametrize(
    ("declared", "said"),
    [
        ("x", "not TOML"),
        ("seed = 1", r"has no \[\[source\]\]"),
        ('[[source]]\npath = "a.json"\nweigth = 1', "source 1: knows no 'weigth'; known are path"),
        ('[[source]]\npath = "a.json"\nweight = 0', "weight must be above 0"),
        ('[[source]]\npath = "a.json"\nsites = "Shop"', "sites must be a tuple of str, not 'Shop'"),
        ('dedupe = "most"\n[[source]]\npath = "a.json"', "dedupe must be one of 'near', 'exact', 'none', not 'most'"),
        ('[[source]]\npath = "none.json"', "none.json: no such file"),
        ('[[source]]\npath = "a.json"\nsites = ["Mail"]', "keeps no sample to train on"),
    ],
)
def test_what_is_no_mix_is_one_line(tmp_path: Path, declared: str, said: str) -> None:
    write_samples(tmp_path, "a", [(step(1), 1, "Click [1]")])
    with pytest.raises(UserError, match=said):
        mixed(tmp_path, declared)
    assert not (tmp_path / "shards").exists()


def test_what_is_no_image_is_named_also_where_none_is_decoded(tmp_path: Path) -> None:
    write_samples(tmp_path, "a", [(step(1), 1, "Click [1]")])
    (tmp_path / "1.png").write_bytes(b"GIF89a")
    with pytest.raises(UserError, match=rf"a\.json: sample {step(1)}: a broken image"):
        mixed(tmp_path, 'dedupe = "exact"\n[[source]]\npath = "a.json"\n')


def test_ids_that_occur_twice_need_a_prefix(tmp_path: Path) -> None:
    write_samples(tmp_path, "a", [(step(1), 1, "Click [1]")])
    write_samples(tmp_path, "b", [(step(1), 2, "Click [2]")])
    declared = '[[source]]\npath = "a.json"\n[[source]]\npath = "b.json"\n'
    with pytest.raises(UserError, match="is there already; give this source a prefix"):
        mixed(tmp_path, declared)
    assert len(mixed(tmp_path, declared + 'prefix = "b"')[0]["train"]) == 2


def test_killed_while_it_chooses_it_goes_on_to_the_same_bytes(tmp_path: Path) -> None:
    write_samples(tmp_path, "a", [(step(at), at % 40, f"Click [{at}]") for at in range(1500)])
    (tmp_path / "mix.toml").write_text('validation_fraction = 0.1\n[[source]]\npath = "a.json"\nweight = 1.5\n')
    assert read_mix(tmp_path / "mix.toml").source[0].weight == 1.5

    def command(name: str) -> list[str]:
        script = str(ROOT / "toolkits" / "mix_data.py")
        return [sys.executable, script, "--mix", str(tmp_path / "mix.toml"), "--save_dir", str(tmp_path / name)]

    subprocess.run(command("whole"), check=True, capture_output=True)
    with subprocess.Popen(command("killed"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        grown, deadline = tmp_path / ".killed.mix" / "train.jsonl", time.monotonic() + 60
        while not (grown.exists() and grown.stat().st_size) and time.monotonic() < deadline:
            time.sleep(0.002)
        os.kill(process.pid, signal.SIGKILL)
    assert grown.exists() and not (tmp_path / "killed").exists()
    subprocess.run(command("killed"), check=True, capture_output=True)
    tars = {
        name: {tar.name: tar.read_bytes() for tar in (tmp_path / name).glob("*.tar")} for name in ("whole", "killed")
    }
    assert tars["killed"] == tars["whole"] and len(tars["whole"]) > 2
