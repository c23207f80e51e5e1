"""The rehearsal itself: its yardsticks measure what they say, and all its stages run before a tiny model."""

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from tests.conftest import ROOT
from tests.rehearsal import memory
from tests.rehearsal.agreement import ROUNDING, Difference, bf16_bound
from tests.rehearsal.live_tensors import LiveTensors
from tests.tiny import byte_level_tokenizers, mistral_tokenizer


def test_rounding_to_bf16_errs_as_the_bound_says() -> None:
    numbers = torch.logspace(0, 8, 1_000_000, base=2, dtype=torch.float64)
    errors = numbers.bfloat16().double() / numbers - 1
    assert pytest.approx(float(errors.square().mean().sqrt()), rel=0.01) == ROUNDING


def test_a_shifted_reply_is_more_than_bf16_explains() -> None:
    """Log-probabilities of the next token in place of this one's are another spread away, not a rounding."""
    torch.manual_seed(0)
    true = (-10 + torch.randn(200)).tolist()
    rounded = [value + 0.008 * noise for value, noise in zip(true, torch.randn(200).tolist(), strict=True)]
    bound = bf16_bound({"a": true}, layers=2)
    assert Difference.of({"a": rounded}, {"a": true}).rms < bound
    assert Difference.of({"a": true[1:] + true[:1]}, {"a": true}).rms > 10 * bound
    with pytest.raises(AssertionError, match="different lengths"):
        Difference.of({"a": true[1:]}, {"a": true})


def test_live_tensors_are_counted_until_they_are_freed() -> None:
    with LiveTensors() as counter:
        weight = torch.zeros(256, 1024, requires_grad=True)  # 1 MiB
        hidden = (weight * 2).relu()  # what relu keeps for the backward pass is its result
        hidden[0].view(-1).sum().backward()  # the gradient, and while it is made the gradients of relu and of the row
        assert counter.live == 3 * 2**20
        assert 4 * 2**20 < counter.peak < 6 * 2**20
        del hidden, weight
        assert counter.live == 0


def test_the_dry_runs_table_is_read(tmp_path: Path) -> None:
    table = " weights (GiB)                   1.25 \n activations (GiB, estimate)     0.30 \n"
    (tmp_path / "log").write_text(table)
    assert memory.said(tmp_path / "log") == {"weights": 1.25, "activations": 0.3}


def test_a_tokenizer_of_our_making_has_the_special_tokens_where_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mistral_tokenizer, "RELEASED", Path("nowhere"))
    tokenizer = mistral_tokenizer.make_tokenizer(("<image>", "<pad>"))
    assert len(tokenizer) == 32002
    ids = tokenizer("OBSERVATION:\n[1] link 'Café' <image>")["input_ids"]
    assert ids[0] == 1 and ids[-1] == 32000 and max(ids[:-1]) < 32000
    assert tokenizer.decode(ids[1:-1]).strip() == "OBSERVATION:\n[1] link 'Café'"


def test_byte_level_tokenizers_of_our_making_have_the_special_tokens_where_they_are() -> None:
    text = "OBSERVATION:\n[1] link 'Café' 2026"
    ids = {  # as in the released added_tokens.json
        byte_level_tokenizers.qwen3_vl: {"<|endoftext|>": 151643, "<|im_end|>": 151645, "<|vision_start|>": 151652}
        | {"<|vision_end|>": 151653, "<|image_pad|>": 151655, "<|video_pad|>": 151656, "</think>": 151668},
        byte_level_tokenizers.smolvlm: {"<|im_start|>": 1, "<|im_end|>": 2, "<global-img>": 49152}
        | {"<row_1_col_1>": 49153, "<row_6_col_6>": 49188, "<fake_token_around_image>": 49189, "<image>": 49190}
        | {"<end_of_utterance>": 49279},
    }
    for make, special in ids.items():
        tokenizer = make()
        assert len(tokenizer) == max(special.values()) + 1
        assert tokenizer("".join(special))["input_ids"] == list(special.values())
        assert tokenizer.decode(tokenizer(text)["input_ids"]) == text


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("model", ["idefics2", "llava_next", "smolvlm_256m", "qwen3_vl_2b", "qwen3_vl_8b"])
def test_every_stage_before_a_tiny_model(tmp_path: Path, model: str) -> None:
    """Serving, Chromium, converters, TP=2 or 3, and all again with what was trained; then nothing is left to do."""
    flags = ["--size", "tiny", "--models", model, "--output_dir", str(tmp_path)]
    command = ["bash", str(ROOT / "tests" / "rehearsal.sh"), *flags]
    environment = {**os.environ, "PYTHON": sys.executable}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads((tmp_path / "rehearsal.json").read_text())
    rows = {row["what"]: row["value"] for row in report[model]["rows"]}
    assert all(row["holds"] for row in report[model]["rows"])
    assert rows["reply tokens compared"] > 100 and rows["released: pixel values compared"] > 1e6
    assert math.isfinite(rows["bf16 server to bf16 trainer, rms"])
    again = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert again.returncode == 0 and again.stdout.count("done before") == 9
