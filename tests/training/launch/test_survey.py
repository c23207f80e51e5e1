"""Before any rank starts: what would end a run later is found, listed and, if asked for, left out."""

import dataclasses
import json
import re
import zlib
from pathlib import Path

import pytest
import torch

from common.errors import UserError
from data.shards.shard import Sample, read_manifest, write_shards
from tests import tiny
from tests.models.drawn_pictures import last_chunk, with_pixels
from tests.tiny import text_only
from tests.training.batches.test_dataset import Reader, place
from toolkits.shards.energon_index import write_energon_index
from training.algorithms.algorithm import Needs, Number
from training.algorithms.weighted_sft import WeightedSft
from training.batches.columns import ColumnJoin
from training.checkpoints.loader_state import from_plain, to_plain
from training.launch import survey
from training.launch.survey import Reading, check_samples
from training.samples.left_out import LeftOut
from training.samples.stored_sample import read_in_order


def changed(number: int, **fields: object) -> Sample:
    return dataclasses.replace(tiny.sample(number), id=f"bad.{number}", **fields)


def replied(number: int, reply: str) -> Sample:
    [asked, answer] = tiny.sample(number).conversations
    return changed(number, conversations=[asked, {**answer, "value": reply}])


BAD = {
    "an image that is cut": (changed(30, images=[tiny.sample(30).images[0][:-20]]), "broken image"),
    "bytes that are none": (changed(31, images=[b"\x89PNG\r\n\x1a\n" + b"no picture at all"]), "broken image"),
    "a text behind the pixels that is too large": (
        changed(
            34, images=[last_chunk(tiny.sample(34).images[0], b"zTXt", b"Comment\0\0" + zlib.compress(bytes(2**21)))]
        ),
        "broken image",
    ),
    "pixels that cannot be unpacked": (
        changed(37, images=[with_pixels(tiny.sample(37).images[0], lambda packed: packed[:20] + packed[60:])]),
        "broken image",
    ),
    "a mark in a reply": (replied(32, "the tag <image> is HTML"), "a reply says <image>"),
    "a turn too many": (
        changed(33, conversations=[*tiny.sample(33).conversations, {"from": "human", "value": "and now?"}]),
        "turns must alternate",
    ),
    "a reply that is too long": (replied(35, "shop " * 5000), "longer than SEQ_LEN"),
    "tokens that are none": (changed(36, extra={"token_ids": ["a"]}), "token_ids must be"),
}


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten good samples, and the bad ones between them."""
    folder = tmp_path_factory.mktemp("data") / "shards"
    good = [tiny.sample(number) for number in range(10)]
    samples = [one for pair in zip(good, (bad for bad, _ in BAD.values()), strict=False) for one in pair] + good[
        len(BAD) :
    ]
    return tiny.build_dataset(folder, samples, of_others=True)


def test_all_that_is_bad_is_found_at_once(shards: Path, policy: Path) -> None:
    with pytest.raises(UserError, match=f"{len(BAD)} of {10 + len(BAD)} samples cannot be read") as caught:
        check_samples(shards, Reading(policy, 1024, 3), skip=len(BAD) - 1)
    assert "\n" not in str(caught.value)
    listed = Path(re.search(r"all are in (\S+);", str(caught.value))[1])
    reasons = {bad["key"]: bad["reason"] for bad in json.loads(listed.read_text())["bad"]}
    for sample, reason in BAD.values():
        assert reasons.pop(sample.key).startswith(f"sample {sample.id}: ") or "broken image" in reason
    assert not reasons


def test_they_are_left_out_when_asked(shards: Path, policy: Path, tmp_path: Path) -> None:
    left_out = check_samples(shards, Reading(policy, 1024, 3), skip=len(BAD))
    assert left_out.num_left(read_manifest(shards)) == 10
    left_out.write(tmp_path / "run" / "left_out.jsonl")
    assert LeftOut.read(tmp_path / "run" / "left_out.jsonl") == left_out
    ids = [sample.id for sample in read_in_order(shards, left_out=left_out.keys)]
    assert ids == [tiny.sample(number).id for number in range(10)]


@pytest.mark.parametrize("num_workers", [0, 1])
def test_a_run_draws_all_others_also_after_a_restart(
    shards: Path, policy: Path, num_workers: int, tmp_path: Path
) -> None:
    keys, reader = check_samples(shards, Reading(policy, 1024, 3), skip=len(BAD)).keys, Reader(policy)
    feed = reader.feed(shards, place(), num_workers, left_out=keys)
    steps = [feed.take().keys for _ in range(2)]
    torch.save(to_plain(feed.save_state_rank()), tmp_path / "state.pt")
    steps += (expected := [feed.take().keys for _ in range(3)])
    drawn = [key for step in steps for key in step]
    assert len(drawn) == 30 and {drawn.count(key) for key in set(drawn)} == {3}  # three passes over ten
    restarted = reader.feed(shards, place(1, 2), num_workers, left_out=keys)
    restarted.restore_state_rank(from_plain(torch.load(tmp_path / "state.pt", weights_only=True)))
    assert [restarted.take().keys for _ in range(3)] == expected


def test_what_was_found_is_kept_until_something_changes(
    policy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shards = tiny.build_dataset(tmp_path / "shards", [tiny.sample(number) for number in range(4)])
    check_samples(shards, Reading(policy, 1024, 3))
    monkeypatch.setattr(survey, "_Look", None)
    check_samples(shards, Reading(policy, 1024, 3))
    for other in (
        Reading(policy, 512, 3),
        Reading(policy, 1024, 2),
        Reading(policy, 1024, 3, "all"),
        Reading(policy, 1024, 3, join=ColumnJoin(WeightedSft())),
    ):
        with pytest.raises(TypeError):
            check_samples(shards, other)


def test_what_is_learned_otherwise_than_it_stands_is_counted_also_from_the_cache(
    policy: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    [asked, answer] = tiny.sample(2).conversations
    long = changed(2, conversations=[{**asked, "value": asked["value"] + " word" * 2000}, answer])
    samples = [tiny.sample(1), long, replied(3, "Click <end_of_utterance>")]
    shards = tiny.build_dataset(tmp_path / "shards", samples)
    for _ in range(2):
        assert not check_samples(shards, Reading(policy, 1024, 3)).samples
        said = capfd.readouterr().err
        assert "1 samples are longer than SEQ_LEN=1024 tokens and lose the end of their newest obs" in said
        assert "1 samples have replies that spell special tokens" in said


def test_a_cache_that_is_cut_is_made_anew(policy: Path, tmp_path: Path) -> None:
    shards = tiny.build_dataset(tmp_path / "shards", [tiny.sample(number) for number in range(4)])
    check_samples(shards, Reading(policy, 1024, 3))
    [cache] = (shards / ".survey").iterdir()
    whole = cache.read_bytes()
    cache.write_bytes(whole[:-5])
    check_samples(shards, Reading(policy, 1024, 3))
    assert cache.read_bytes() == whole


def test_one_bad_sample_says_how_to_go_on(policy: Path, tmp_path: Path) -> None:
    shards = tiny.build_dataset(tmp_path / "shards", [tiny.sample(1), replied(2, "an <image>")])
    with pytest.raises(UserError, match=r"sample bad\.2: a reply says <image>.*one of 2 samples; SKIP_BAD_SAMPLES=1"):
        check_samples(shards, Reading(policy, 1024, 3))


def test_columns_are_asked_of_training_samples_alone(policy: Path, tmp_path: Path) -> None:
    folder = tmp_path / "shards"
    folder.mkdir()
    weighted = [dataclasses.replace(tiny.sample(number), extra={"weight": 1.0}) for number in range(3)]
    manifest = write_shards(folder, [*weighted, tiny.sample(3)], max_samples=3, source={})
    write_energon_index(folder, [shard["url"] for shard in manifest["shards"]])
    reading = Reading(policy, 1024, 3, join=ColumnJoin(NeedsWeight()))
    with pytest.raises(UserError, match="has no weight"):
        check_samples(folder, reading)
    manifest["shards"][1]["split"] = "val"
    (folder / "manifest.json").write_text(json.dumps(manifest))
    assert not check_samples(folder, reading).samples


class NeedsWeight(WeightedSft):
    needs = Needs(per_sample={"weight": Number()})


def test_a_text_model_is_asked_like_any_other(tmp_path: Path) -> None:
    text_only.build_policy(tmp_path / "llama", "llama", layers=1)
    shards = tiny.build_dataset(tmp_path / "shards", [tiny.sample(1), tiny.sample(2, with_images=False)])
    left_out = check_samples(shards, Reading(tmp_path / "llama", 1024, 3), skip=1)
    assert left_out.keys == [tiny.sample(1).key]


def test_a_token_without_an_embedding_is_found(tmp_path: Path) -> None:
    """A tokenizer may have more tokens than its model; Megatron's padding would learn them, and be cut off."""
    policy = text_only.build_policy(tmp_path / "policy", "qwen3", layers=1)
    config = json.loads((policy / "config.json").read_text())
    (policy / "config.json").write_text(json.dumps(config | {"vocab_size": config["vocab_size"] - 7}))
    texts = ("shop", "a <unused_190> b")
    turns = [[{"from": "human", "value": asked}, {"from": "gpt", "value": said}] for asked in texts for said in texts]
    samples = [Sample(f"s--{number}", both, []) for number, both in enumerate(turns)]
    (tmp_path / "shards").mkdir()
    write_shards(tmp_path / "shards", samples, max_samples=10, source={})
    with pytest.raises(UserError, match=r"3 of 4 samples cannot be read: sample s--1: .* no embedding for \(id \d+\)"):
        check_samples(tmp_path / "shards", Reading(policy, 512, 3))
