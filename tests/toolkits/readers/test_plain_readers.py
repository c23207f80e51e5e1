"""Shards as readers see them that know nothing of Elcano: every sample must be whole under its own key."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import webdataset

from data.conversation import IMAGE
from data.shards.shard import read_manifest
from tests.conftest import ROOT
from tests.toolkits.test_tar_data import pack, write_trajectories

ENERGON = """
import json, sys, zlib
from megatron.energon import Cooker, DefaultTaskEncoder, Sample, WorkerConfig, basic_sample_keys, cooker, edataclass
from megatron.energon import get_loader, get_train_dataset, stateless

@edataclass
class Seen(Sample):
    fields: dict
    images: list

@stateless
@cooker
def cook(raw):
    parts = sorted(name for name in raw if name.endswith("png"))
    fields = json.loads(raw["json"])
    return Seen(**basic_sample_keys(raw), fields=fields, images=[zlib.crc32(raw[part]) for part in parts])

class Encoder(DefaultTaskEncoder):
    cookers = [Cooker(cook)]
    decoder = None
    def batch(self, samples):
        return samples

worker = WorkerConfig(rank=0, world_size=1, num_workers=0)
dataset = get_train_dataset(sys.argv[1], worker_config=worker, batch_size=1, shuffle_buffer_size=None,
                            max_samples_per_sequence=None, task_encoder=Encoder(), repeat=False)
print(json.dumps([[sample.fields, len(sample.images)] for batch in get_loader(dataset) for sample in batch]))
"""


def with_webdataset(folder: Path) -> list[tuple[dict, int]]:
    """(json member, number of images) of every sample."""
    urls = [str(folder / shard["url"]) for shard in read_manifest(folder)["shards"]]
    samples = list(webdataset.WebDataset(urls, shardshuffle=False))
    return [(json.loads(sample["json"]), sum(name.endswith("png") for name in sample)) for sample in samples]


def with_energon(folder: Path) -> list[tuple[dict, int]]:
    """In a process of its own: energon starts threads that a test should not inherit."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", ENERGON, str(folder)]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=280)
    assert result.returncode == 0, result.stderr
    return [tuple(pair) for pair in json.loads(result.stdout.strip().splitlines()[-1])]


def num_marks(fields: dict) -> int:
    return sum(turn["value"].count(IMAGE) for turn in fields["conversations"] if turn["from"] == "human")


@pytest.mark.parametrize("read", [with_webdataset, with_energon])
def test_every_sample_has_all_its_images_under_its_own_key(tmp_path: Path, read) -> None:
    pack(tmp_path / "shards", write_trajectories(tmp_path, count=6), max_samples_per_shard=12)
    samples = read(tmp_path / "shards")
    assert len({fields["id"] for fields, _ in samples}) == len(samples) == 30
    assert [num_images for _, num_images in samples] == [num_marks(fields) for fields, _ in samples]
    assert all("images" not in fields for fields, _ in samples)


def test_what_a_sample_lacks_in_a_shared_shard_is_named_in_it(tmp_path: Path) -> None:
    """By the manifest for the whole, and by the sample for each image: that is what `--share_images` costs."""
    part = write_trajectories(tmp_path, count=6)
    pack(tmp_path / "shards", part, max_samples_per_shard=12, share_images=True)
    assert read_manifest(tmp_path / "shards")["share_images"] is True
    lacking = [fields for fields, num_images in with_webdataset(tmp_path / "shards") if num_images < num_marks(fields)]
    assert len(lacking) >= 6 and all(len(fields["images"]) == num_marks(fields) for fields in lacking)
