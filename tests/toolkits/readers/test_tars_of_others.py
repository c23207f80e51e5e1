"""Folders of tars and energon's datasets, in and out; what webdataset and energon read of ours."""

import dataclasses
import json
from pathlib import Path

import pytest

from common.errors import UserError
from tests.toolkits.interchange import export, seen, shards, take_in, write_samples
from tests.toolkits.readers.test_plain_readers import with_energon, with_webdataset
from tests.toolkits.readers.test_webdataset_tars import TURNS, picture, write
from toolkits import convert_foreign_tars, convert_to_tar_data, export_data, import_data
from toolkits.readers.reading.references import NAMES

A_SHOP = {"a.jpg": picture("JPEG"), "a.txt": b"A shop."}
TWICE = json.dumps({**TURNS, "id": "t-0--b"}).encode()
SPLIT = "split_parts:\n  train:\n  - 't_{0..1}.tar'\n  val:\n  - t_2.tar\nexclude: []\n"
VQA = (
    "__module__: megatron.energon\n__class__: VQAWebdataset\n"
    "field_map:\n  image: jpg;png\n  context: json[0][value]\n  answers: json[1][value]\n"
)


def say(number: int) -> bytes:
    return json.dumps([{"value": f"What is {number}?"}, {"value": [f"It is {number}.", "A number."]}]).encode()


def energon(folder: Path, dataset: str = VQA, split: str = SPLIT) -> Path:
    (folder / ".nv-meta").mkdir(parents=True)
    (folder / ".nv-meta" / "dataset.yaml").write_text(dataset)
    (folder / ".nv-meta" / "split.yaml").write_text(split)
    for number in range(3):
        write(folder / f"t_{number}.tar", {"k.png": picture(color=number), "k.json": say(number)})
    return folder


def turns(samples: list[dict]) -> list[list[str]]:
    return [[turn["value"] for turn in sample["conversations"]] for sample in samples]


def test_any_suffix_keys_with_dots_and_extra_members(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    members = {}
    for name in ("v1.2/shot.one", "v1.2/shot.two"):
        members |= {f"{name}.screenshot": picture(), f"{name}.0.png": picture(color=9), f"{name}.txt": name.encode()}
        members |= {f"{name}.cls": b"1", f"{name}.npy": b"\x93NUMPY"}
    tar = write(tmp_path / "a.tar", members)
    samples = take_in("webdataset", tmp_path / "images", tmp_path / "out.json", tar)
    assert turns(samples) == [["<image><image>", "v1.2/shot.one"], ["<image><image>", "v1.2/shot.two"]]
    assert [sample["id"] for sample in samples] == ["v1.2_shot.one", "v1.2_shot.two"]
    assert "left out: members that end in cls (2), members that end in npy (2)" in capsys.readouterr().err


def test_keys_of_a_folder_count_for_each_tar(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    for name in ("train-0.tar", "deep/train-1.tar", "val-0.tar"):
        (tmp_path / "set" / name).parent.mkdir(parents=True, exist_ok=True)
        write(tmp_path / "set" / name, A_SHOP)
    samples = take_in("webdataset", tmp_path / "images", tmp_path / "out.json", tmp_path / "set")
    assert sorted(sample["id"] for sample in samples) == ["train-0--a", "train-1--a"]
    assert "files of other splits than train (1)" in capsys.readouterr().err


def test_a_key_that_comes_again_is_told_and_spoils_no_picture(tmp_path: Path) -> None:
    write(tmp_path / "a.tar", A_SHOP)
    take_in("webdataset", tmp_path / "images", tmp_path / "out.json", tmp_path / "a.tar")
    write(tmp_path / "b.tar", {**A_SHOP, "a.jpg": picture("JPEG", 200)})
    with pytest.raises(UserError, match=r"b\.tar: sample 'a': .*another picture"):
        take_in("webdataset", tmp_path / "images", tmp_path / "out.json", tmp_path / "a.tar", tmp_path / "b.tar")
    assert (tmp_path / "images" / "a.0.jpg").read_bytes() == A_SHOP["a.jpg"]


def test_many_processes_read_the_same_as_one_whoever_is_first(tmp_path: Path) -> None:
    """Also where samples of several tars say the same name of different pictures, which the first tar's then has."""
    (tmp_path / "set").mkdir()
    for number in range(4):
        said = {"conversations": TURNS["conversations"], NAMES: ["shared.png"]}
        members = {f"{key}.{kind}": content for key in range(40 - 10 * number) for kind, content in
                   (("png", picture(color=number * 50)), ("json", json.dumps(said).encode()))}  # fmt: skip
        write(tmp_path / "set" / f"t-{number}.tar", members)
    found = {}
    for num_workers in (1, 3):
        images, out = tmp_path / f"images{num_workers}", tmp_path / f"{num_workers}.json"
        config = import_data.Config("webdataset", (str(tmp_path / "set"),), str(images), str(out))
        import_data.main(dataclasses.replace(config, num_workers=num_workers))
        found[num_workers] = out.read_bytes(), {one.name: one.read_bytes() for one in images.iterdir()}
    assert found[1] == found[3] and found[1][1]["shared.png"] == picture()
    assert len(found[1][1]) == 1 + 30 + 20 + 10


@pytest.mark.parametrize("fault", ["a picture", "an id"])
def test_of_what_is_refused_late_nothing_stays(tmp_path: Path, fault: str) -> None:
    """But for the pictures that were there before."""
    (tmp_path / "set").mkdir()
    write(tmp_path / "set" / "t-0.tar", {**A_SHOP, "b.png": picture(), "b.txt": b"A lamp."})
    bad = {"c.png": picture()[:-20], "c.txt": b"cut"} if fault == "a picture" else {"c.png": picture(), "c.json": TWICE}
    write(tmp_path / "set" / "t-1.tar", {"d.png": picture(), "d.txt": b"A door.", **bad})
    images = tmp_path / "images"
    take_in("webdataset", images, tmp_path / "a.json", write(tmp_path / "t-0--a.tar", A_SHOP))
    (images / "t-0--a.0.jpg").hardlink_to(images / "a.0.jpg")
    with pytest.raises(UserError, match=r"t-1\.tar: sample 'c'|t-0--b occurs twice"):
        take_in("webdataset", images, tmp_path / "out.json", tmp_path / "set")
    assert sorted(one.name for one in images.iterdir()) == ["a.0.jpg", "t-0--a.0.jpg"]
    assert not (tmp_path / "out.json").exists()


def test_a_dataset_of_energon_by_its_field_map(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    folder = energon(tmp_path / "set")
    samples = take_in("energon", tmp_path / "images", tmp_path / "out.json", folder)
    assert turns(samples) == [[f"<image>\nWhat is {number}?", f"It is {number}."] for number in range(2)]
    assert [sample["id"] for sample in samples] == ["t_0--k", "t_1--k"]
    assert [(tmp_path / "images" / one["images"][0]).read_bytes() for one in samples] == [picture(), picture(color=1)]
    assert "tars of other splits than train (1)" in capsys.readouterr().err


def test_what_its_samples_exclude_is_left_out(tmp_path: Path) -> None:
    folder = energon(tmp_path / "set", split=SPLIT.replace("[]", "[t_0.tar, t_1.tar/x]"))
    assert [one["id"] for one in take_in("energon", tmp_path, tmp_path / "out.json", folder)] == ["t_1--k"]


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"dataset.yaml": "a: !!python/object/apply:os.system ['touch mark']"}, "not valid YAML"),
        ({"dataset.yaml": "- 1"}, "not a mapping"),
        ({"dataset.yaml": "sample_loader: sample_loader.py:load\n" + VQA}, "code, which is not run"),
        ({"dataset.yaml": VQA.replace("VQA", "VidQA")}, "is not read"),
        ({"dataset.yaml": VQA.replace("[0][value]", "[7]")}, "json[7]"),
        ({"dataset.yaml": VQA.replace("jpg;png", "json")}, "no image where"),
        ({"split.yaml": "split_parts: {train: [../../x.tar]}"}, "not a tar in the folder"),
        ({"split.yaml": "split_parts: {train: ['a_{0..999999999}.tar']}"}, "more than"),
        ({"split.yaml": "split_parts: {train: [no.tar]}"}, "no.tar"),
        ({"split.yaml": "split_parts: 3"}, "lists no split_parts"),
    ],
)
def test_what_is_none_is_one_line_and_runs_nothing(tmp_path: Path, files: dict[str, str], said: str) -> None:
    folder = energon(tmp_path / "set")
    for name, content in files.items():
        (folder / ".nv-meta" / name).write_text(content)
    with pytest.raises(UserError) as error:
        take_in("energon", tmp_path / "images", tmp_path / "out.json", folder)
    assert said in str(error.value) and "\n" not in str(error.value)
    assert {path.name for path in tmp_path.iterdir()} <= {"set", "images"}


@pytest.mark.parametrize("kind", ["webdataset", "energon"])
def test_ours_come_back_and_make_the_same_shards(tmp_path: Path, kind: str) -> None:
    samples, images = write_samples(tmp_path)
    out = export(kind, samples, images, tmp_path / kind, max_samples_per_file=3)
    back = take_in(kind, tmp_path / "back", tmp_path / "back.json", out)
    assert seen(back, tmp_path / "back") == seen(json.loads(samples.read_text()), images)
    assert shards(tmp_path / "back.json", tmp_path / "back", tmp_path / "s1") == shards(
        samples, images, tmp_path / "s2"
    )


@pytest.mark.parametrize(
    ("kind", "read"), [("webdataset", with_webdataset), pytest.param("energon", with_energon, marks=pytest.mark.slow)]
)
def test_ours_are_what_their_libraries_read(tmp_path: Path, kind: str, read) -> None:
    samples, images = write_samples(tmp_path)
    found = read(export(kind, samples, images, tmp_path / kind, max_samples_per_file=3))
    expected = {one["id"]: one for one in json.loads(samples.read_text())}
    assert len(found) == len(expected)
    for fields, num_images in found:
        assert num_images == len(expected[fields["id"]]["images"])
        assert fields["conversations"] == expected[fields["id"]]["conversations"]


def test_ours_as_plain_webdataset_train_as_they_are(tmp_path: Path) -> None:
    """Training has them made into the shards that our own way makes, byte for byte."""
    samples, images = write_samples(tmp_path)
    made = convert_foreign_tars.convert(export("webdataset", samples, images, tmp_path / "out"))
    assert {path.name: path.read_bytes() for path in made.glob("*.tar")} == shards(samples, images, tmp_path / "ours")


def test_shards_that_share_images_go_out_whole(tmp_path: Path) -> None:
    samples, images = write_samples(tmp_path)
    shared = convert_to_tar_data.Config(
        (str(samples),), (str(images),), str(tmp_path / "shards"), num_workers=1, share_images=True
    )
    convert_to_tar_data.main(shared)
    export_data.main(export_data.Config("webdataset", str(tmp_path / "plain"), shard_dir=str(tmp_path / "shards")))
    back = take_in("webdataset", tmp_path / "back", tmp_path / "back.json", tmp_path / "plain")
    assert seen(back, tmp_path / "back") == seen(json.loads(samples.read_text()), images)


def test_excluded_samples_are_named_as_their_split_names_the_tar(tmp_path: Path) -> None:
    folder = tmp_path / "set"
    (folder / ".nv-meta").mkdir(parents=True)
    (folder / ".nv-meta" / "dataset.yaml").write_text(VQA)
    parts = {"train": ["{a,b}/t_{0..1}.tar"], "val": []}
    excluded = ["a/t_{0..1}.tar/k", "b/t_1.tar"]
    (folder / ".nv-meta" / "split.json").write_text(json.dumps({"split_parts": parts, "exclude": excluded}))
    for number, name in enumerate(("a/t_0.tar", "a/t_1.tar", "b/t_0.tar", "b/t_1.tar")):
        (folder / name).parent.mkdir(exist_ok=True)
        write(
            folder / name,
            {f"{key}.png": picture(color=number) for key in "kl"} | dict.fromkeys(["k.json", "l.json"], say(number)),
        )
    samples = take_in("energon", tmp_path / "images", tmp_path / "out.json", folder)
    assert [sample["id"] for sample in samples] == ["a_t_0--l", "a_t_1--l", "b_t_0--k", "b_t_0--l"]
