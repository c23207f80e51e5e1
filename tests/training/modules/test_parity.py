"""Every layout of every model computes what Hugging Face computes, on the same weights: real torchrun, real gloo.

In fp32 nearly to the bit; in bf16 each tensor at most two or three times as far from fp32 as Hugging Face's own bf16
(`rounding.py`; `parity_table.py` writes the errors into docs/results/parity.md).
Each algorithm's loss in all layouts: `bash tests/run.sh --slow tests/training/modules/test_parity.py -k every_loss`.
All models in all layouts, in both: `bash tests/run.sh --slow tests/training/modules/test_parity.py`; four random sizes
of each newer family alone: `bash tests/run.sh --slow tests/training/modules/test_parity.py -k random_sizes`.
"""

import functools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from tests import tiny
from tests.conftest import ROOT
from tests.forked import run_ranks
from tests.tiny import idefics3, llava, qwen2_5_vl, qwen3_vl, text_only
from tests.tiny.random_policy import FAMILIES, build_random_policy
from tests.training import rounding
from tests.training.columns_reference import CASES
from tests.training.conftest import converted
from tests.training.rounding import Outcome

LOGITS, TOLERANCE = 1e-4, 1e-5
Differences = dict[str, Any]
"""By layout: the largest differences, or in bf16 the errors of every tensor; and the largest gradient."""

MAKERS: dict[str, Callable[[Path], Path]] = {
    "idefics2": tiny.build_policy,  # tied embeddings, grouped-query attention
    # 300 tokens pad to 384 rows at TP=1 and to 512 at TP=2
    "idefics2 with MHA and a window": lambda folder: tiny.build_policy(
        folder, vocab_size=300, kv_heads=4, tied=False, sliding_window=32, perceiver_kv_heads=4
    ),
    "llava": lambda folder: llava.build_policy(folder, is_next=False),
    "llava with MHA and two feature layers": lambda folder: llava.build_policy(
        folder,
        is_next=False,
        kv_heads=4,
        vision_feature_layer=[-1, 1],
        vision_feature_select_strategy="full",
        multimodal_projector_bias=False,
    ),
    "llava_next": lambda folder: llava.build_policy(folder, is_next=True, text="mistral", sliding_window=24),
    "llava_next with MHA": lambda folder: llava.build_policy(folder, is_next=True, kv_heads=4),
    "idefics3": idefics3.build_policy,
    # three images of one tile have fewer units than some layouts have ranks; queries wider than the hidden states
    "smolvlm with MHA": lambda folder: idefics3.build_policy(
        folder, "smolvlm", splits=False, tied=False, hidden_size=48, num_key_value_heads=4
    ),
    "qwen2_5_vl": qwen2_5_vl.build_policy,
    "qwen3_vl": qwen3_vl.build_policy,
    # the tower's taps out of order, the last layer among them; three layers on each chunk of PP2 x VPP2
    "qwen3_vl with MHA and 12 layers": lambda folder: qwen3_vl.build_policy(
        folder, layers=12, tied=False, taps=(3, 0, 2), num_key_value_heads=4
    ),
    "llama": text_only.build_policy,
    "llama with MHA and tied embeddings": lambda folder: text_only.build_policy(
        folder, tie_word_embeddings=True, num_key_value_heads=4
    ),
    "qwen2": lambda folder: text_only.build_policy(folder, "qwen2"),
    "qwen3": lambda folder: text_only.build_policy(folder, "qwen3", head_dim=32),
    "glm": lambda folder: text_only.build_policy(folder, "glm", head_dim=32),
}
RANDOM: dict[str, Callable[[Path], Path]] = {
    f"{name} of seed {seed}": functools.partial(build_random_policy, name=name, seed=seed)
    for name in FAMILIES
    for seed in range(5)
}
"""Seed 0 is measured each time, the others by the slow test."""
UNEVEN = ("tp2,pp2,sp,full,first3", "tp2,cp2,sp,packed", "pp2,cp2,first3,packed")
FEW = {
    "idefics2": ("tp1", "cp2,packed,algorithms", "tp2,pp2,sp,full,first1", "tp2,bf16"),
    "idefics2 with MHA and a window": ("tp2,cp2",),
    "llava": ("tp2,cp2,packed",),
    "llava_next": ("cp2,do,overlap", "pp2,vpp2"),
    "idefics3 of seed 0": ("tp2,cp2,packed",),
    "qwen2_5_vl of seed 0": ("tp2,pp2,first3,packed",),
    "qwen3_vl of seed 0": ("tp2,pp2,sp,full,first3",),
    "llama": ("tp2,pp2,packed",),
}
FP32 = (
    *("tp1", "packed", "tp2", "tp2,sp", "tp4,packed", "pp2", "pp4", "pp2,first3,packed", "tp2,pp2", "tp2,pp2,sp,full"),
    *("tp2,pp2,sp,selective", "cp2", "cp2,packed", "cp4", "tp2,cp2,sp,packed", "pp2,cp2,packed", "pp2,vpp2"),
    *("tp2,pp2,vpp2,sp,packed", "do", "do,overlap", "tp2,sp,do,overlap", "pp2,do,overlap", "pp2,vpp2,do,overlap"),
    "cp2,do,overlap,packed,full",
)
ALL = (*FP32, *(f"{layout},bf16" for layout in FP32))
ALGORITHMS = tuple(
    f"{layout},algorithms"
    for layout in ("tp2", "pp2", "cp2", "pp2,packed", "tp2,pp2", "tp2,cp2,sp,packed", "do", "packed", "do,packed")
)
"""Of one family: losses see what every family's last stage gives alike."""


def measure(folder: Path, layouts: dict[str, tuple[str, ...]]) -> dict[str, Differences]:
    """The largest differences from Hugging Face on four ranks, by model and layout."""
    arguments: list[object] = []
    for number, (model, texts) in enumerate(layouts.items()):
        hf = (MAKERS | RANDOM)[model](folder / f"hf{number}")
        megatron = converted("hf2mg", hf, folder / f"megatron{number}")
        arguments += [hf, megatron, " ".join(texts)]
    run_ranks(4, ROOT / "tests" / "training" / "parity_worker.py", folder / "out.json", *arguments, timeout_s=7000)
    return dict(zip(layouts, json.loads((folder / "out.json").read_text()), strict=True))


def check(results: Differences, layout: str) -> None:
    largest, found = results["largest gradient"], results[layout]
    assert largest > 0.1
    assert ("logits" in found) == ("pp" not in layout)
    if "bf16" in layout:
        assert rounding.beyond(rounding.read(found)) == []
        return
    assert found.get("logits", 0) < LOGITS
    assert {name: error for name, error in found.items() if name != "logits" and error >= TOLERANCE} == {}


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Differences]:
    return measure(tmp_path_factory.mktemp("parity"), FEW)


@pytest.mark.parametrize(("model", "layout"), [(model, layout) for model, texts in FEW.items() for layout in texts])
def test_loss_gradients_and_logits_agree(few: dict[str, Differences], model: str, layout: str) -> None:
    """Of the first model also a loss that reads columns: it sees what every family's last stage gives alike."""
    check(few[model], layout)
    of_algorithms = {name.removesuffix(" loss") for name in few[model][layout] if name.endswith(" loss")}
    if "algorithms" in layout:
        assert of_algorithms == CASES.keys()
    else:
        assert of_algorithms == ({"log_ratio"} if model == "idefics2" and "bf16" not in layout else set())


def test_what_is_not_rounding_is_named() -> None:
    """Of three tensors one is 2 % too large, one has twice and a half the noise that one process has, one is right."""
    generator = torch.Generator().manual_seed(0)
    exact = {name: torch.randn(64, 64, generator=generator) for name in ("scaled", "noisy", "right")}

    def outcome(noise: dict[str, float], scale: float = 1.0) -> Outcome:
        found = {name: value + noise[name] * torch.randn(64, 64, generator=generator) for name, value in exact.items()}
        found["scaled"] *= scale
        return Outcome([torch.ones(9)], [], found)

    usual = dict.fromkeys(exact, 0.004)
    layout = outcome({**usual, "noisy": 0.01}, scale=1.02)
    errors = rounding.measure(layout, outcome(usual), Outcome([torch.ones(9)], [], exact), layout.norm)
    assert [line.split(":")[0] for line in rounding.beyond(errors)] == ["scaled", "noisy"]


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Differences]:
    """Of a model, in all layouts; measured when it is asked for."""

    @functools.cache
    def of(model: str) -> Differences:
        texts = tuple(text for text in ALL if fits(model, text))
        return measure(tmp_path_factory.mktemp("parity"), {model: texts})[model]

    return of


def fits(model: str, layout: str) -> bool:
    """Two key/value heads cannot be cut in four, and the three layers that take features of the tower not in two."""
    deep = "qwen3_vl" not in model or "12 layers" in model
    return ("tp4" not in layout or "MHA" in model) and (deep or ("pp4" not in layout and "vpp" not in layout))


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("model", "layout"), [(m, text) for m in MAKERS for text in ALL if fits(m, text)])
def test_every_model_agrees_in_every_layout(everything: Callable[[str], Differences], model: str, layout: str) -> None:
    check(everything(model), layout)


@pytest.fixture(scope="module")
def losses(tmp_path_factory: pytest.TempPathFactory) -> Differences:
    return measure(tmp_path_factory.mktemp("parity"), {"idefics2": ALGORITHMS})["idefics2"]


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("layout", ALGORITHMS)
def test_every_loss_agrees_in_every_layout(losses: Differences, layout: str) -> None:
    check(losses, layout)


@pytest.fixture(scope="module", params=FAMILIES)
def drawn(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Differences]:
    """Of the four of a family, in one torchrun."""
    layouts = {f"{request.param} of seed {seed}": UNEVEN for seed in range(1, 5)}
    return measure(tmp_path_factory.mktemp("parity"), layouts)


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("layout", UNEVEN)
def test_random_sizes_agree(drawn: dict[str, Differences], layout: str) -> None:
    """The pipelines' first stages have three layers, the second ones fewer."""
    for results in drawn.values():
        check(results, layout)
