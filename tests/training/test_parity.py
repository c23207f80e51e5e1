"""Every parallel layout computes what Hugging Face computes, on the same weights: real torchrun, real gloo."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from data.processes import die_with_parent
from tests.conftest import ROOT
from tests.training import tiny
from tests.training.conftest import convert

TOLERANCE = 1e-5
TIED = ("tp1", "tp2", "tp2,sp", "pp2", "tp2,pp2", "tp2,pp2,sp,ac", "pp4", "tp2,do")
UNTIED = ("tp1", "tp2", "tp2,pp2,sp")
Differences = dict[str, dict[str, float]]


@pytest.fixture(scope="module")
def differences(
    policy: Path, megatron: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Differences, Differences]:
    """The largest differences from Hugging Face on four ranks, by layout: of a policy with tied embeddings, and of
    one with untied embeddings, a sliding window, and 300 tokens that pad to 384 rows at TP=1 and to 512 at TP=2.
    """
    folder = tmp_path_factory.mktemp("parity")
    untied = tiny.build_policy(folder / "hf", vocab_size=300, tied=False, sliding_window=32)
    untied_megatron = convert("hf2mg", untied, folder / "megatron")
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=4"]
    command += [ROOT / "tests" / "training" / "parity_worker.py", folder / "out.json"]
    command += [policy, megatron, " ".join((*TIED, "tp2,bf16")), untied, untied_megatron, " ".join(UNTIED)]
    subprocess.run(command, check=True, env=tiny.environment(), preexec_fn=die_with_parent)
    return tuple(json.loads((folder / "out.json").read_text()))


def check(results: Differences, layout: str) -> None:
    assert results["largest gradient"] > 0.1
    found = results[layout]
    assert "loss" in found and ("gradient" in found or "do" in layout) and ("logits" in found) == ("pp" not in layout)
    assert max(found.values()) < TOLERANCE


@pytest.mark.parametrize("layout", TIED)
def test_loss_gradients_and_logits_agree(differences: tuple[Differences, Differences], layout: str) -> None:
    check(differences[0], layout)


@pytest.mark.parametrize("layout", UNTIED)
def test_untied_embeddings_window_and_padded_vocabulary_agree(
    differences: tuple[Differences, Differences], layout: str
) -> None:
    check(differences[1], layout)


def test_bf16_agrees_to_its_precision(differences: tuple[Differences, Differences]) -> None:
    results = differences[0]
    assert results["tp2,bf16"]["loss"] < 5e-3
    assert results["tp2,bf16"]["gradient"] < 0.05 * results["largest gradient"]
