"""Shards: what is written is read back, and a damaged one is noticed."""

import hashlib
import io
import json
import pickle
import tarfile

import pytest
import xxhash
from PIL import Image

from common.errors import UserError
from data.shards.legacy import read_legacy_tar, unpickle_images
from data.shards.shard import Sample, read_manifest, read_shard, task_of, write_shards
from data.shards.tar import TarWriter, _make_header, _tarfile_header, scan


def _png(color: int) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (8, 6), (color, 0, 0)).save(file, "PNG")
    return file.getvalue()


def _sample(number: int, num_images: int = 2) -> Sample:
    turns = [
        {"from": "human", "value": f"task é {number} " + "<image>" * num_images},
        {"from": "gpt", "value": "Thought"},
    ]
    return Sample(f"a.b--{number:03d}", turns, [_png(number + i) for i in range(num_images)], {"weight": 0.5})


@pytest.mark.parametrize("name", ["a.0.png", "a" * 100, "b" * 101, "é.json", ""])
@pytest.mark.parametrize("size", [0, 1, 266_000, 8**11 - 1, 8**11])
def test_headers_are_those_of_tarfile(name: str, size: int) -> None:
    assert _make_header(name, size) == _tarfile_header(name, size)


def test_round_trip_over_several_shards(tmp_path):
    samples = [_sample(number, number % 3) for number in range(5)]
    manifest = write_shards(tmp_path, samples, max_samples=2, source={"files": ["x.json"]})
    assert manifest["num_samples"] == 5
    assert read_manifest(tmp_path, verify=True) == manifest
    read = [sample for shard in manifest["shards"] for sample in read_shard(tmp_path / shard["url"])]
    assert read == samples
    assert json.loads((tmp_path / "shardlist.json").read_text())[-1] == {"url": "elcano-000002.tar", "nsamples": 1}


def test_the_same_samples_give_the_same_bytes(tmp_path):
    sums = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        manifest = write_shards(tmp_path / name, [_sample(1), _sample(2)], 10, {})
        sums.append(manifest["shards"][0]["xxh128"])
    assert sums[0] == sums[1]


@pytest.mark.parametrize("share_images", [False, True])
def test_identical_screenshots_are_stored_once_when_asked(tmp_path, share_images):
    """Also when they lie in different files; a sample that shares nothing looks as without the flag."""
    (tmp_path / "a.png").write_bytes(_png(1))
    (tmp_path / "b.png").write_bytes(_png(1))
    turns = [{"from": "human", "value": "<image><image>"}, {"from": "gpt", "value": "Thought"}]
    samples = [
        Sample("first.x", turns, [_png(0), tmp_path / "a.png"]),
        Sample("second", turns, [tmp_path / "b.png", _png(2)]),
        Sample("third", turns, [_png(3), _png(3)], {"weight": 2.0, "images": "not mine to set"}),
    ]
    manifest = write_shards(tmp_path, samples, 10, {}, share_images)
    assert manifest["share_images"] is share_images
    path = tmp_path / manifest["shards"][0]["url"]
    read = list(read_shard(path))
    assert [sample.images for sample in read] == [[_png(0), _png(1)], [_png(1), _png(2)], [_png(3), _png(3)]]
    assert read[2].extra == {"weight": 2.0}
    with tarfile.open(path) as tar:
        names = tar.getnames()
        fields = [json.load(tar.extractfile(f"{key}.json")) for key in ("first_x", "second")]
    if share_images:
        assert " ".join(names) == (
            "first_x.0.png first_x.1.png first_x.json second.1.png second.json third.0.png third.json"
        )
        assert "images" not in fields[0] and fields[1]["images"] == ["first_x.1.png", "second.1.png"]
    else:
        parts = ("0.png", "1.png", "json")
        assert names == [f"{key}.{part}" for key in ("first_x", "second", "third") for part in parts]
        assert not any("images" in each for each in fields)


def test_tars_are_what_tarfile_reads_and_the_other_way_round(tmp_path):
    """Long and odd names, sizes on and beside block borders, other writers' formats."""
    files = {"a" * 130 + ".txt": b"", "é ü.1": b"x" * 512, "b/c.2": b"y" * 513, "d" * 90 + "/" + "e" * 90: b"z"}
    writer = TarWriter(tmp_path / "ours.tar")
    for name, content in files.items():
        writer.add(name, content)
    assert writer.close() == xxhash.xxh128((tmp_path / "ours.tar").read_bytes()).hexdigest()
    assert writer.members == scan(tmp_path / "ours.tar")
    with tarfile.open(tmp_path / "ours.tar") as tar:
        assert {member.name: tar.extractfile(member).read() for member in tar} == files
    for kind in (tarfile.PAX_FORMAT, tarfile.GNU_FORMAT):
        with tarfile.open(tmp_path / "theirs.tar", "w", format=kind) as tar:
            for name, content in files.items():
                info = tarfile.TarInfo(name)
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
        with tarfile.open(tmp_path / "theirs.tar") as tar:
            expected = [(member.name, member.offset, member.offset_data, member.size) for member in tar]
        found = [(member.name, member.start, member.offset, member.size) for member in scan(tmp_path / "theirs.tar")]
        assert found == expected


def test_the_task_of_a_sample():
    for name in ("Amazon--00003--r01--step01", "Amazon--00003--run2--r04--step15", "Amazon--00003"):
        assert task_of(name) == "Amazon--00003"


@pytest.mark.parametrize("version", [2, 3])
def test_damage_is_noticed(tmp_path, version):
    manifest = write_shards(tmp_path, [_sample(1)], 10, {})
    tar = tmp_path / manifest["shards"][0]["url"]
    content = bytearray(tar.read_bytes())
    if version == 2:
        del manifest["shards"][0]["xxh128"]
        manifest["shards"][0]["sha256"] = hashlib.sha256(content).hexdigest()
        (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    read_manifest(tmp_path, verify=True)
    content[700] ^= 1
    tar.write_bytes(content)
    read_manifest(tmp_path)
    with pytest.raises(UserError, match="checksum"):
        read_manifest(tmp_path, verify=True)
    tar.write_bytes(content[:-512])
    with pytest.raises(UserError, match="another size"):
        read_manifest(tmp_path)
    with pytest.raises(UserError, match="not a shard folder"):
        read_manifest(tmp_path / "nowhere")


def test_image_marks_must_match_images(tmp_path):
    sample = _sample(1)
    with pytest.raises(UserError, match="2 <image> marks but 1 images"):
        write_shards(tmp_path, [Sample(sample.id, sample.conversations, sample.images[:1])], 10, {})


def test_the_released_tar_reads_safely_and_equals_the_released_json(field_files):
    samples = list(read_legacy_tar(field_files / "tar" / "openwebvoyager-000000.tar"))
    expected = json.loads((field_files / "json" / "example.json").read_text())
    assert [sample.id for sample in samples] == [sample["id"] for sample in expected]
    for sample, json_sample in zip(samples, expected, strict=True):
        assert len(sample.images) == len(json_sample["images"])
        assert sample.images[-1] == (field_files / "images" / json_sample["images"][-1]).read_bytes()
        assert (
            sample.conversations[0]["value"].split("\n")[0] == json_sample["conversations"][0]["value"].split("\n")[0]
        )


def test_pickled_images_of_old_clients(tmp_path):
    path = tmp_path / "a.png"
    path.write_bytes(_png(7))
    image = Image.open(path)
    read = unpickle_images(pickle.dumps([image]))[0].to_image()
    assert (read.mode, read.size, read.tobytes()) == (image.mode, image.size, image.tobytes())


class _Evil:
    def __reduce__(self):
        return exec, ("raise SystemExit('the pickle ran')",)


@pytest.mark.parametrize("content", [pickle.dumps([_Evil()]), pickle.dumps({"a": 1}), b"junk", pickle.dumps([1]), b""])
def test_any_other_pickle_is_refused(content):
    with pytest.raises(UserError):
        unpickle_images(content)
