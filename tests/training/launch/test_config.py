"""Options: the published values, environment below flags, and what the launcher refuses before any rank starts."""

import dataclasses
import io
import json
import math
import re
import shutil
import tarfile
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyarrow import parquet

from common.errors import UserError
from data.adapter_record import Lora
from tests import tiny
from training.config import Config, parse
from training.launch import torchrun
from training.launch.launch import check, is_complete, main
from training.modules import kernels

PATHS = ["--dataset_path", "d", "--pretrain_checkpoint_path", "p"]


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for field in dataclasses.fields(Config):
        monkeypatch.delenv(field.name.upper(), raising=False)


def test_defaults_are_openwebvoyagers() -> None:
    published = {
        **{"batch_size": 1, "global_batch_size": 64, "image_num": 3, "lr": 1e-5, "min_lr": 1e-6, "seq_len": 8192},
        **{"pr": "bf16", "tp": 8, "pp": 1, "ac": "full", "do": False, "sp": False, "train_iters": 300},
        **{"lr_warmup_iters": 9, "save_interval": 100, "seed": 1234, "clip_grad": 1.0, "weight_decay": 0.0},
    }
    config = parse(PATHS)
    assert {name: getattr(config, name) for name in published} == published


def test_flags_win_over_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TP", "2")
    monkeypatch.setenv("PP", "4")
    monkeypatch.setenv("DATASET_PATH", "elsewhere")
    config = parse(["--pretrain_checkpoint_path", "p", "--pp", "1"])
    assert (config.tp, config.pp, config.dataset_path) == (2, 1, Path("elsewhere"))


def test_adapters_learn_alone_unless_more_is_asked_for() -> None:
    everything, alone = parse(PATHS).trainable, parse([*PATHS, "--lora_rank", "8"]).trainable
    more = parse([*PATHS, "--lora_rank", "8", "--freeze_connector", "false"]).trainable
    assert (everything.vision, everything.connector, everything.language, everything.lora) == (True, True, True, None)
    assert (alone.vision, alone.connector, alone.lora) == (False, False, Lora(8, 16.0))
    assert (more.vision, more.connector) == (False, True)


def test_an_empty_variable_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TP", "")
    monkeypatch.setenv("SP", "")
    config = parse(PATHS)
    assert (config.tp, config.sp) == (8, False)


@pytest.mark.parametrize(("epochs", "expected"), [(0.0, 300), (2.0, 3), (0.1, 1)])
def test_epochs_become_iterations(epochs: float, expected: int) -> None:
    config = dataclasses.replace(parse(PATHS), train_epochs=epochs, global_batch_size=16)
    assert config.num_iters(num_samples=24) == expected


@pytest.mark.parametrize(
    ("options", "num_ranks", "message"),
    [
        ({"tp": 3}, 3, "TP=3 does not divide the model's 4 attention heads; TP=1, TP=2 would"),
        ({"tp": 4}, 4, "TP=4 does not divide the model's 2 key/value heads"),
        ({"pp": 3}, 3, "PP=3 does not divide the model's 4 layers"),
        ({"pp": 2, "vpp": 4}, 2, "PP=2 x VPP=4 does not divide the model's 4 layers"),
        ({"vpp": 2}, 1, "VPP=2 needs PP > 1"),
        ({"pp": 3, "first_stage_layers": 1}, 3, "FIRST_STAGE_LAYERS=1 leaves 3 of 4 layers, which 2 stages cannot"),
        ({"cp": 2}, 3, "3 processes cannot be cut into TP=1 x PP=1 x CP=2"),
        ({"tp": 2}, 3, "3 processes cannot be cut into TP=2 x PP=1"),
        ({"batch_size": 3}, 1, "GLOBAL_BATCH_SIZE=8 is not a multiple of BATCH_SIZE=3"),
        ({"sp": True}, 1, "SP=true needs TP > 1"),
        ({"packing": True, "batch_size": 2}, 1, "give BATCH_SIZE=1"),
        ({"seq_len": 16384}, 1, "SEQ_LEN=16384, but this model knows 8192 positions only"),
        ({f"freeze_{part}": True for part in ("vision", "connector", "language")}, 1, "nothing is left to learn"),
        ({"wandb_project": "w"}, 1, "pip install wandb"),
        ({"dataset_path": Path("nowhere")}, 1, "nowhere: not a shard folder"),
        ({"pretrain_checkpoint_path": Path("nowhere")}, 1, "nowhere: no such checkpoint folder"),
    ],
)
def test_what_cannot_work_is_refused(
    shards: Path, megatron: Path, options: dict[str, Any], num_ranks: int, message: str
) -> None:
    defaults = {"dataset_path": shards, "pretrain_checkpoint_path": megatron, "tp": 1, "global_batch_size": 8}
    with pytest.raises(UserError, match=message):
        check(Config(**{**defaults, **options}), num_ranks)


@pytest.mark.parametrize("name", ["tp", "batch_size", "global_batch_size", "seq_len", "save_interval", "num_workers"])
def test_impossible_numbers_are_refused_by_name(shards: Path, megatron: Path, name: str) -> None:
    with pytest.raises(UserError, match=f"{name.upper()} must be at least [01], not -1"):
        dataclasses.replace(config_for(shards, megatron), **{name: -1})


def test_a_dry_run_refuses_a_batch_that_cannot_be_cut() -> None:
    config = Config(Path("none"), Path("idefics2-8b"), tp=2, num_gpus=8, global_batch_size=30, dry_run=True)
    with pytest.raises(UserError, match="GLOBAL_BATCH_SIZE=30 is not a multiple of BATCH_SIZE=1 x 4 data-parallel"):
        main(config)


def test_a_dry_run_refuses_to_learn_nothing() -> None:
    parts = {"freeze_vision": True, "freeze_connector": True, "freeze_language": True}
    config = Config(Path("none"), Path("idefics2-8b"), tp=2, num_gpus=8, dry_run=True, **parts)
    with pytest.raises(UserError, match="nothing is left to learn"):
        main(config)


@pytest.mark.parametrize("lacks", [True, False])
def test_a_cpu_without_bf16_is_told(
    shards: Path, megatron: Path, lacks: bool, tmp_path: Path, monkeypatch, capsys
) -> None:
    monkeypatch.setattr(kernels, "cpu_lacks_bf16", lambda: lacks)
    monkeypatch.setattr(torchrun, "start", lambda *_: 1)
    assert main(dataclasses.replace(config_for(shards, megatron, tmp_path), pr="bf16")) == 1
    assert ("PR=bf16: this CPU" in capsys.readouterr().out) is lacks


def config_for(shards: Path, megatron: Path, output: Path = Path("output")) -> Config:
    return Config(shards, megatron, output_basepath=output, tp=1, global_batch_size=8, train_iters=10)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lr": 5e-7}, "MIN_LR=1e-06 is above LR=5e-07; give a lower MIN_LR"),
        ({"lr": math.nan}, "LR must be a finite number, not nan"),
        ({"lora_alpha": math.inf}, "LORA_ALPHA must be a finite number"),
        ({"clip_grad": -1.0}, "CLIP_GRAD must be at least 0"),
        ({"train_epochs": math.nan}, "TRAIN_EPOCHS must be a finite number"),
    ],
)
def test_rates_and_their_like_are_refused_before_any_rank_starts(
    shards: Path, megatron: Path, options: dict[str, float], message: str
) -> None:
    with pytest.raises(UserError, match=re.escape(message)):
        dataclasses.replace(config_for(shards, megatron), **options)


def test_outputs_that_cannot_be_written_are_refused_before_any_rank_starts(
    shards: Path, megatron: Path, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    config = config_for(shards, megatron)
    with pytest.raises(UserError, match="cannot be made"):
        check(dataclasses.replace(config, output_basepath=tmp_path / "file" / "x"), 1)
    with pytest.raises(UserError, match=r"RUN_NAME '\.\./x' is not a plain name"):
        check(dataclasses.replace(config, output_basepath=tmp_path, run_name="../x"), 1)


def test_a_hugging_face_folder_is_refused_with_the_way_out(shards: Path, policy: Path) -> None:
    with pytest.raises(UserError, match=r"convert it with hf2mg\.sh"):
        check(config_for(shards, policy), 1)


def test_a_critic_is_refused_before_any_rank_starts(shards: Path, megatron: Path, tmp_path: Path) -> None:
    critic = tmp_path / "critic"
    shutil.copytree(megatron, critic)
    (critic / "release" / "run.json").write_text(json.dumps({"policy": "p0"}))
    with pytest.raises(UserError, match="is a critic, not a policy; give the policy's checkpoint"):
        check(config_for(shards, critic), 1)


def test_another_model_is_refused(shards: Path, megatron: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(megatron, other)
    fields = json.loads((other / "config.json").read_text())
    (other / "config.json").write_text(json.dumps({**fields, "model_type": "bloom"}))
    with pytest.raises(UserError, match="model_type is 'bloom'"):
        check(config_for(shards, other), 1)


@pytest.mark.parametrize(("tracker", "said"), [("release", "a converted checkpoint, no run's"), ("", "no iteration")])
def test_a_folder_that_is_no_runs_is_named(
    shards: Path, megatron: Path, tmp_path: Path, tracker: str, said: str
) -> None:
    config = dataclasses.replace(config_for(shards, megatron, tmp_path), run_name="named")
    config.checkpoint_path.mkdir(parents=True)
    (config.checkpoint_path / "latest_checkpointed_iteration.txt").write_text(tracker)
    with pytest.raises(UserError, match=said):
        is_complete(config)


def test_a_run_cannot_continue_on_other_data(shards: Path, megatron: Path, tmp_path: Path) -> None:
    config = dataclasses.replace(config_for(shards, megatron, tmp_path), run_name="named")
    assert not is_complete(config)
    iteration = config.checkpoint_path / "iter_0000002"
    iteration.mkdir(parents=True)
    (iteration / "metadata.json").touch()
    (config.checkpoint_path / "latest_checkpointed_iteration.txt").write_text("2")
    manifest = json.loads((shards / "manifest.json").read_text())
    (iteration / "run.json").write_text(json.dumps(config.identity(manifest)))
    assert not is_complete(config)
    with pytest.raises(UserError, match="began with another seed, num_workers;"):
        is_complete(dataclasses.replace(config, seed=1, num_workers=1))
    others = tiny.build_dataset(tmp_path / "others", [tiny.sample(index) for index in range(9)])
    with pytest.raises(UserError, match="began with another data;"):
        is_complete(dataclasses.replace(config, dataset_path=others))
    weights = tmp_path / "weights.parquet"
    parquet.write_table(pyarrow.table({"id": ["x"], "weight": [1.0]}), weights)
    with pytest.raises(UserError, match="began with another algorithm, column_files;"):
        is_complete(dataclasses.replace(config, algorithm="weighted_sft", column_files=str(weights)))
    with pytest.raises(UserError, match="began with another lr, lr_schedule;"):
        is_complete(dataclasses.replace(config, lr=1.0, lr_schedule="constant"))


def test_a_finished_run_is_not_taken_for_another_one(shards: Path, megatron: Path, tmp_path: Path) -> None:
    """What concerned only how it would have gone on may differ by then."""
    config = dataclasses.replace(
        config_for(shards, megatron, tmp_path), train_epochs=0, train_iters=2, run_name="named"
    )
    iteration = config.checkpoint_path / "iter_0000002"
    iteration.mkdir(parents=True)
    (iteration / "metadata.json").touch()
    (config.checkpoint_path / "latest_checkpointed_iteration.txt").write_text("2")
    manifest = json.loads((shards / "manifest.json").read_text())
    (iteration / "run.json").write_text(json.dumps(config.identity(manifest)))
    assert is_complete(config) and is_complete(dataclasses.replace(config, num_workers=1, do=True))
    assert not is_complete(dataclasses.replace(config, train_iters=3))
    for change, said in ({"lr": 1.0}, "lr"), ({"algorithm": "weighted_sft"}, "algorithm"):
        with pytest.raises(UserError, match=f"began with another {said};"):
            is_complete(dataclasses.replace(config, **change))


def test_columns_of_other_samples_are_refused_before_any_rank_starts(
    shards: Path, megatron: Path, tmp_path: Path
) -> None:
    weights = tmp_path / "weights.parquet"
    parquet.write_table(pyarrow.table({"id": ["task--99999--step01"], "weight": [1.0]}), weights)
    config = dataclasses.replace(config_for(shards, megatron), algorithm="weighted_sft")
    with pytest.raises(UserError, match=r"sample task--.* has no weight, and no file of COLUMN_FILES has it"):
        check(config, 1)
    with pytest.raises(UserError, match=f"{weights}: no row for sample task--.*; it was made for other samples"):
        check(dataclasses.replace(config, column_files=str(weights)), 1)


@pytest.mark.parametrize(("num_images", "message"), [(1, "2 <image> marks but 1 images"), (2, "more than IMAGE_NUM=1")])
def test_images_are_counted_before_any_rank_starts(
    megatron: Path, tmp_path: Path, num_images: int, message: str
) -> None:
    """Also where the shard was not made by our writer, which counts itself."""
    good = tiny.sample(1, num_steps=2)
    folder = tiny.build_dataset(tmp_path / "shards", [good])
    if num_images == 1:
        drop_member(folder, f"{good.key}.1.png")
    config = dataclasses.replace(config_for(folder, megatron), image_num=1 if num_images == 2 else 3)
    with pytest.raises(UserError, match=message):
        check(config, 1)


def drop_member(folder: Path, name: str) -> None:
    [path] = folder.glob("*.tar")
    with tarfile.open(path) as old:
        kept = [(member, old.extractfile(member).read()) for member in old if member.name != name]
    with tarfile.open(path, "w") as new:
        for member, content in kept:
            new.addfile(member, io.BytesIO(content))
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["shards"][0]["bytes"] = path.stat().st_size
    (folder / "manifest.json").write_text(json.dumps(manifest))
