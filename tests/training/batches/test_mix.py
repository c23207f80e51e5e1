"""Training over a declared mix is training over the shards that it stands for, and its hash is in the checkpoint."""

import json
from pathlib import Path

import pytest

from data.shards.mix_file import mix_digest, shards_of_mix
from data.shards.shard import read_manifest
from tests import tiny
from tests.training.batches.test_foreign_tars import own
from tests.training.conftest import train
from toolkits.model_checkpoints_convertor.inspect_checkpoint import describe
from training.config import Config
from training.launch.foreign_tars import shards_to_read


def mix(folder: Path) -> Path:
    """Of two shard folders."""
    for name, indexes in (("a", range(8)), ("b", range(8, 12))):
        own(folder / name, [tiny.sample(index, num_steps=1 + index % 3) for index in indexes])
    declared = '[[source]]\npath = "a/shards"\n[[source]]\npath = "b/shards"\nweight = 2\n'
    (folder / "mix.toml").write_text(declared)
    return folder / "mix.toml"


def test_a_mix_is_read_as_shards_that_are_made_once(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file = mix(tmp_path)
    shards = shards_to_read(file)
    assert shards == shards_of_mix(file) and read_manifest(shards)["num_samples"] == 16
    made_at = (shards / "manifest.json").stat().st_mtime_ns
    capfd.readouterr()
    assert shards_to_read(file) == shards and (shards / "manifest.json").stat().st_mtime_ns == made_at
    assert capfd.readouterr().out == f"{file}: a mix, SHA-256 {mix_digest(file)}; read as {shards}\n"
    identity = Config(shards, tmp_path / "none").identity(read_manifest(shards))
    assert identity["mix"] == mix_digest(file)
    assert "mix" not in Config(tmp_path / "a" / "shards", tmp_path).identity(read_manifest(tmp_path / "a" / "shards"))
    file.write_text('[[source]]\npath = "none"\n')
    with pytest.raises(SystemExit) as ended:
        shards_to_read(file)
    assert ended.value.code == 2 and capfd.readouterr().err == f"error: {tmp_path / 'none'}: no such file or folder\n"


@pytest.mark.slow
def test_the_checkpoint_says_which_mix(megatron: Path, tmp_path: Path) -> None:
    file = mix(tmp_path)
    options = {"tp": 1, "global_batch_size": 4, "train_iters": 2, "save_interval": 2}
    losses = train("", file, megatron, tmp_path / "out", **options)
    weights = tmp_path / "out" / "checkpoint" / "run" / "iter_0000002"
    assert json.loads((weights / "run.json").read_text())["mix"] == mix_digest(file)
    assert f"of the mix of SHA-256 {mix_digest(file)}" in describe(weights)
    assert losses == train("", shards_of_mix(file), megatron, tmp_path / "again", **options)
