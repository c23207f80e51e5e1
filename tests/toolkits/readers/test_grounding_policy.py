"""A grounding set goes the whole way: drawn, imported, packed, trained on, served, and measured as ScreenSpot is."""

import asyncio
import json
from pathlib import Path

import pytest

from collection import measure_pointing
from tests.server.helpers import running_server
from tests.tiny import qwen3_vl
from tests.toolkits.grounding_pages import draw
from tests.toolkits.interchange import shards
from tests.training.conftest import train
from toolkits import import_data
from toolkits.model_checkpoints_convertor import convert

SPACE = "qwen_computer_use"


def measured(policy: Path, samples: Path, images: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """The table and lines that measuring prints."""
    with running_server(policy, "--max_new_tokens", "96", "--dtype", "float32") as server:
        capsys.readouterr()
        given = {"json_files": (samples,), "image_dirs": (images,), "output": samples.with_suffix(".answers")}
        where = {"api_localhost": (f"{server.url}/predict",), "action_space": SPACE}
        measure_pointing.main(measure_pointing.PointingConfig(**where, **given, temperature=0))
    return capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_what_it_was_shown_it_points_at(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A tiny policy with random weights names no place at all; trained on the set, it finds most of it again."""
    folder, samples = tmp_path / "set", tmp_path / "grounding.json"
    folder.mkdir()
    files = tuple(map(str, asyncio.run(draw(folder, num_pages=2))))
    import_data.main(import_data.Config("auto", files, str(folder), str(samples), action_space=SPACE))
    assert len(json.loads(samples.read_text())) == 8
    shards(samples, folder, tmp_path / "shards")
    untrained, megatron = qwen3_vl.build_policy(tmp_path / "hf"), tmp_path / "megatron"
    convert.main(convert.Config(direction="hf2mg", load_path=untrained, save_path=megatron))
    assert "0 of 8 targets hit, 8 without a click" in measured(untrained, samples, folder, capsys)

    steps = {"train_iters": 240, "save_interval": 240, "lr": 3e-3, "min_lr": 1e-4, "lr_warmup_iters": 10}
    train("qwen3_vl", tmp_path / "shards", megatron, tmp_path / "run", tp=1, global_batch_size=4, **steps)
    trained = tmp_path / "trained"
    convert.main(
        convert.Config(direction="mg2hf", load_path=tmp_path / "run" / "checkpoint" / "run", save_path=trained)
    )
    told = measured(trained, samples, folder, capsys)
    print(told)
    rows = {line.split()[0]: line for line in told.splitlines() if line.strip()}
    assert {"platform", "mobile", "web", "all", "average"} <= rows.keys()
    hit = int(told.partition(" of 8 targets hit")[0].split()[-1])
    assert hit >= 6, told
