"""Shards: what is written is read back, and a damaged one is noticed."""

import io
import json
import pickle

import pytest
from PIL import Image

from data.errors import UserError
from data.legacy import read_legacy_tar, unpickle_images
from data.shard import Sample, read_manifest, read_shard, write_shards


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
        sums.append(manifest["shards"][0]["sha256"])
    assert sums[0] == sums[1]


def test_damage_is_noticed(tmp_path):
    manifest = write_shards(tmp_path, [_sample(1)], 10, {})
    tar = tmp_path / manifest["shards"][0]["url"]
    content = bytearray(tar.read_bytes())
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


def test_the_released_tar_reads_safely_and_equals_the_released_json(fixtures):
    samples = list(read_legacy_tar(fixtures / "tar" / "openwebvoyager-000000.tar"))
    expected = json.loads((fixtures / "json" / "example.json").read_text())
    assert [sample.id for sample in samples] == [sample["id"] for sample in expected]
    for sample, json_sample in zip(samples, expected, strict=True):
        assert len(sample.images) == len(json_sample["images"])
        assert sample.images[-1] == (fixtures / "images" / json_sample["images"][-1]).read_bytes()
        assert (
            sample.conversations[0]["value"].split("\n")[0] == json_sample["conversations"][0]["value"].split("\n")[0]
        )


def test_pickled_images_of_old_clients(tmp_path):
    path = tmp_path / "a.png"
    path.write_bytes(_png(7))
    image = Image.open(path)
    (read,) = unpickle_images(pickle.dumps([image]))
    assert (read.mode, read.size, read.tobytes()) == (image.mode, image.size, image.tobytes())


class _Evil:
    def __reduce__(self):
        return exec, ("raise SystemExit('the pickle ran')",)


@pytest.mark.parametrize("content", [pickle.dumps([_Evil()]), pickle.dumps({"a": 1}), b"junk", pickle.dumps([1]), b""])
def test_any_other_pickle_is_refused(content):
    with pytest.raises(UserError):
        unpickle_images(content)
