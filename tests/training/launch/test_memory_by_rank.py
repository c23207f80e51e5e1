"""--dry_run is what the trainer's own code allocates, rank by rank, on fake tensors at idefics2-8b's full width."""

import functools
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.memory_by_rank import LAYOUTS, ROWS, SHAPE, compare, measure, one_of_each_kind
from common.errors import UserError
from common.files import read_json
from tests import tiny
from training.config import Config

FEW_LAYERS: dict[str, dict[str, int]] = {"text": {"num_hidden_layers": 2}, "vision": {"num_hidden_layers": 1}}
GIB = 2**30


def ratios(
    options: dict[str, Any], rank: int, changes: dict[str, dict[str, int]], shape: Path = SHAPE
) -> dict[str, float]:
    """Of the dry run's bytes to the rank's."""
    return ratios_of(measure(shape, options, rank, **changes), options, changes, shape)


def ratios_of(
    measured: dict[str, Any], options: dict[str, Any], changes: dict[str, dict[str, int]], shape: Path = SHAPE
) -> dict[str, float]:
    return compare("", shape, options, [measured], **changes)["ranks"][0]["ratio"]


@functools.cache
def few_layers(layout: str) -> dict[str, Any]:
    """The last kind of its ranks; a process of its own takes long."""
    rank = one_of_each_kind(Config(SHAPE, SHAPE, **LAYOUTS[layout]))[-1]
    return measure(SHAPE, LAYOUTS[layout], rank, **FEW_LAYERS)


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_row_of_a_layout_is_within_ten_percent(layout: str) -> None:
    assert ratios_of(few_layers(layout), LAYOUTS[layout], FEW_LAYERS) == dict.fromkeys(ROWS, pytest.approx(1, abs=0.1))


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    "options",
    [
        {"tp": 8, "ac": "none"},
        {"tp": 8, "ac": "selective"},
        {"tp": 8, "sp": True, "loss": "all"},
        {"tp": 4, "pp": 2, "vpp": 2, "first_stage_layers": 0},
        {"tp": 2, "do": True, "overlap": True, "freeze_vision": True},
        {"tp": 2, "seq_len": 2048, "freeze_vision": True, "freeze_connector": True},  # encoding takes the most
    ],
    ids=str,
)
def test_other_options_are_within_ten_percent(options: dict[str, Any]) -> None:
    changes = {**FEW_LAYERS, "text": {"num_hidden_layers": 4}}
    assert ratios(options, 0, changes) == dict.fromkeys(ROWS, pytest.approx(1, abs=0.1))


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_gradients_of_many_tied_rows_of_tokens_are_within_ten_percent(tmp_path: Path) -> None:
    fields = read_json(SHAPE / "config.json") | {"tie_word_embeddings": True}
    fields["text_config"]["vocab_size"] = 151936
    (tmp_path / "config.json").write_text(json.dumps(fields))
    options = {"tp": 2, "seq_len": 4096, "freeze_vision": True, "freeze_connector": True}
    ratio = ratios(options, 0, FEW_LAYERS, tmp_path)
    assert ratio == dict.fromkeys(ROWS, pytest.approx(1, abs=0.1))


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_rank_of_the_whole_model_is_within_ten_percent() -> None:
    assert ratios(LAYOUTS["TP8"], 0, {}) == dict.fromkeys(ROWS, pytest.approx(1, abs=0.1))


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_what_a_rank_sends_is_what_its_layout_says() -> None:
    """TP8, 2 layers: a layer all-reduces the hidden states twice on its way and twice back, and twice when it is
    computed again; the embedding and the output layer once. A ring sends 2 * 7 / 8 of what it reduces."""
    measured = few_layers("TP8")
    hidden = 2 * 8192 * 4096
    assert measured["sent_by_micro_batch"]["all-reduce"] == pytest.approx(2 * 7 / 8 * 13 * hidden, rel=0.1)
    averaged = 4 * (measured["parameters"] - 2 * 2 * 21_500_000)
    assert 0 < measured["sent_by_step"]["all-reduce"] < 2 * averaged
    assert measured["num_images"] == 0 and measured["weights"] < 2 * GIB


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_vision_side_allocates_on_real_tensors_what_it_does_on_fake_ones() -> None:
    command = [sys.executable, "-W", "ignore", "-m", "tests.training.vision_memory_worker"]
    process = subprocess.run(command, check=True, capture_output=True, text=True, env=tiny.environment())
    measured = json.loads(process.stdout.splitlines()[-1])
    assert measured["fake"] == pytest.approx(measured["real"], rel=0.1)


def test_kinds_of_ranks() -> None:
    """3 images over 8 ranks: one each on the first three; a second pipeline stage has none."""
    assert one_of_each_kind(Config(SHAPE, SHAPE, tp=8)) == [0, 3]
    assert one_of_each_kind(Config(SHAPE, SHAPE, tp=4, pp=2)) == [0, 3, 4]
    assert one_of_each_kind(Config(SHAPE, SHAPE, tp=2)) == [0, 1]


def test_a_rank_that_fails_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONHOME", str(tmp_path))  # its interpreter ends before it imports anything
    with pytest.raises(UserError, match=r"rank 0 of .* failed: [^\n]+$"):
        measure(SHAPE, {"tp": 8}, 0)
