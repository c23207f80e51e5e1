"""A PEFT adapter comes out as PEFT merges it, or is refused: by converter and server, merged and apart, in the same
words."""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers.utils import logging

from common.errors import UserError
from server.engine.model.lora import AdaptedLinear
from server.engine.model.vision_language_model import LoadOptions, VisionLanguageModel
from tests.toolkits.checkpoints import convert

peft = pytest.importorskip("peft", reason="needs the peft package, which Elcano does not")

from tests.models import drawn_adapters as drawn  # noqa: E402 (needs peft)

Loaded = dict[str, torch.Tensor]
OUTSIDE = "is outside the language model's layers"


@pytest.fixture(scope="module")
def base_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The tiny model of a family, built once."""
    built: dict[str, Path] = {}

    def get(kind: str) -> Path:
        if kind not in built:
            built[kind] = drawn.BASES[kind](tmp_path_factory.mktemp(kind) / "base")
        return built[kind]

    return get


def pefts_own(base: Path, folder: Path) -> Loaded:
    """What PEFT makes of it."""
    return peft.PeftModel.from_pretrained(drawn.base_model(base), folder).merge_and_unload().state_dict()


def merged(base: Path, folder: Path, out: Path) -> Loaded:
    convert("hf2mg", base, out / "mg", adapter_path=folder)
    return drawn.base_model(convert("mg2hf", out / "mg", out / "hf")).state_dict()


def apart(base: Path, folder: Path, out: Path) -> Loaded:
    convert("hf2mg", base, out / "mg", adapter_path=folder, lora="apart")
    return drawn.base_model(convert("mg2hf", out / "mg", out / "hf")).state_dict()


def back(base: Path, folder: Path, out: Path) -> Loaded:
    convert("hf2mg", base, out / "mg", adapter_path=folder, lora="apart")
    return pefts_own(base, convert("mg2hf", out / "mg", out / "peft", lora="apart"))


def scored(base: Path, folder: Path, out: Path) -> Loaded:
    """What score.sh loads: `verify` holds Megatron's logits of base and adapters against the merged weights'."""
    convert("hf2mg", base, out / "mg", adapter_path=folder, lora="apart", verify=True)
    return drawn.base_model(convert("mg2hf", out / "mg", out / "hf")).state_dict()


def served(base: Path, folder: Path, _: Path) -> Loaded:
    model = VisionLanguageModel(base, LoadOptions(device="cpu", adapters={"x": str(folder)})).hf_model
    state = {name.replace(".base.", "."): tensor for name, tensor in model.state_dict().items()}
    for name, module in model.named_modules():
        if isinstance(module, AdaptedLinear):
            down, up = module.deltas["x"]
            state[f"{name}.weight"] = state[f"{name}.weight"] + up @ down
    return state


WAYS = {"merged": merged, "server": served, "apart": apart, "back": back}


def check(base: Path, folder: Path, out: Path, ways: dict[str, Any] = WAYS) -> str | None:
    """The refusal in which all agree; None where all come to what PEFT does. What lies outside the language model can
    be merged alone."""
    logging.set_verbosity_error()
    found: dict[str, str | Loaded] = {}
    for name, way in ways.items():
        (out / name).mkdir(parents=True)
        try:
            found[name] = way(base, folder, out / name)
        except UserError as error:
            found[name] = str(error)
            assert not any((out / name).iterdir()), "something was written"
    refusals = {value for value in found.values() if isinstance(value, str)}
    assert len(refusals) < 2, refusals
    expected = None if refusals and isinstance(found["merged"], str) else pefts_own(base, folder)
    for name, weights in found.items():
        if isinstance(weights, str):
            assert weights.startswith(str(folder)) and "\n" not in weights, weights
            assert expected is None or (OUTSIDE in weights and name != "merged"), found
            continue
        assert expected is not None and weights.keys() == expected.keys(), name
        for key, tensor in weights.items():
            assert torch.allclose(tensor, expected[key], atol=2e-5, rtol=1e-5), (name, key)
    if OUTSIDE in "".join(refusals):
        assert all(isinstance(value, str) == (name != "merged") for name, value in found.items())
    elif refusals:
        assert all(isinstance(value, str) for value in found.values())
    return refusals.pop() if refusals else None


def lora(**fields: Any) -> Any:
    return peft.LoraConfig(**{"r": 4, "lora_alpha": 8, "target_modules": ["q_proj", "down_proj"], **fields})


TAKEN = {
    "some modules": {},
    "a module's alpha": {"alpha_pattern": {"q_proj": 64}},
    "a module's rank": {"rank_pattern": {"q_proj": 2, r"layers\.1\.mlp\.down_proj": 7}},
    "both, by the root of the rank": {
        "rank_pattern": {"q_proj": 2},
        "alpha_pattern": {"q_proj": 5},
        "use_rslora": True,
    },
    "an anchored name": {"alpha_pattern": {"^model.layers.1.self_attn.q_proj": 1, "q_proj": 32}},
    "one layer": {"layers_to_transform": 1, "layers_pattern": "layers"},
    "but one": {"target_modules": "all-linear", "exclude_modules": ["o_proj"]},
    "drawn from the data": {"init_lora_weights": "orthogonal", "fan_in_fan_out": True},
}


@pytest.mark.parametrize("name", TAKEN)
def test_equal_to_pefts_merge(name: str, base_of: Callable[[str], Path], tmp_path: Path) -> None:
    folder = drawn.save_adapter(base_of("llama"), tmp_path / "adapter", lora(**TAKEN[name]))
    assert check(base_of("llama"), folder, tmp_path / "out") is None


def test_a_pattern_of_an_older_name_has_none_of_the_effect_that_it_had_not_in_training(
    base_of: Callable[[str], Path], tmp_path: Path
) -> None:
    """transformers 4.52 renamed `model.layers` to `model.language_model.layers`, which PEFT matches alone."""
    config = lora(target_modules=r".*language_model.*\.q_proj", alpha_pattern={"model.layers.0.self_attn.q_proj": 64})
    folder = drawn.save_adapter(base_of("qwen2_5_vl"), tmp_path / "adapter", config)
    assert check(base_of("qwen2_5_vl"), folder, tmp_path / "out", {"merged": merged, "served": served}) is None


REFUSED = {
    "pissa": ({"init_lora_weights": "pissa"}, "init_lora_weights 'pissa'"),
    "its fast form": ({"init_lora_weights": "pissa_niter_4"}, "init_lora_weights 'pissa_niter_4'"),
    "olora": ({"init_lora_weights": "olora"}, "init_lora_weights 'olora'"),
    "dora": ({"use_dora": True}, "use_dora True"),
    "biases": ({"bias": "lora_only"}, "bias 'lora_only'"),
    "B's bias": ({"lora_bias": True}, "lora_bias True"),
    "whole modules": ({"modules_to_save": ["lm_head"]}, "modules_to_save ['lm_head']"),
    "tokens": ({"trainable_token_indices": [3]}, "trainable_token_indices [3]"),
    "repeated layers": ({"layer_replication": [[0, 2], [1, 2]]}, "layer_replication"),
    "an output layer": ({"target_modules": ["q_proj", "lm_head"]}, "lm_head.base_layer.weight, which is not low-rank"),
    "word embeddings": ({"target_modules": ["q_proj", "embed_tokens"]}, "embed_tokens"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_by_its_name(name: str, base_of: Callable[[str], Path], tmp_path: Path) -> None:
    fields, words = REFUSED[name]
    folder = drawn.save_adapter(base_of("llama"), tmp_path / "adapter", lora(**fields))
    assert words in (check(base_of("llama"), folder, tmp_path / "out") or "was read")


CHANGED = {
    drawn.diverged: "holds NaN or infinity",
    drawn.half_gone: "the other half",
    drawn.of_another_size: "do not fit",
    drawn.with_another_layer: "adapts no linear layer of a llama of this size",
    drawn.with_a_field_of_tomorrow: "use_tomorrows_lora True",
    drawn.with_fewer_targets: "leaves out",
    drawn.as_bin: None,
    drawn.rounded: None,
}


@pytest.mark.parametrize("change", CHANGED)
def test_what_was_done_to_it_since(change: Any, base_of: Callable[[str], Path], tmp_path: Path) -> None:
    folder, base = drawn.save_adapter(base_of("llama"), tmp_path / "adapter", lora()), base_of("llama")
    change(folder, random.Random(0))
    refusal, words = check(base, folder, tmp_path / "out"), CHANGED[change]
    assert refusal is None if words is None else words in str(refusal)


def test_without_targets_its_tensors_say_them(base_of: Callable[[str], Path], tmp_path: Path) -> None:
    folder = drawn.save_adapter(base_of("llama"), tmp_path / "adapter", lora(target_modules=["q_proj", "v_proj"]))
    drawn.without_targets(folder, random.Random(0))  # which are what PEFT takes for a llama
    assert check(base_of("llama"), folder, tmp_path / "out") is None


@pytest.mark.parametrize("kind", ["qwen3", "glm", "smolvlm"])
def test_adapters_of_any_family(kind: str, base_of: Callable[[str], Path], tmp_path: Path) -> None:
    base = base_of(kind)
    modules = drawn.decoder_modules(drawn.base_model(base))
    folder = drawn.save_adapter(base, tmp_path / "adapter", lora(target_modules=modules[1:]))
    assert check(base, folder, tmp_path / "out") is None


def test_beside_a_tower_they_can_only_be_merged(base_of: Callable[[str], Path], tmp_path: Path) -> None:
    folder = drawn.save_adapter(base_of("idefics2"), tmp_path / "adapter", lora(target_modules="all-linear"))
    assert OUTSIDE in str(check(base_of("idefics2"), folder, tmp_path / "out"))


def test_inspect_says_what_an_adapter_is_refused_for(
    base_of: Callable[[str], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = drawn.save_adapter(base_of("llama"), tmp_path / "adapter", lora(use_dora=True))
    convert("hf2mg", folder, tmp_path / "unused", inspect=True)
    said = capsys.readouterr().out.splitlines()
    assert "PEFT adapter" in said[0] and "use_dora True" in said[-1]


@pytest.mark.slow
@pytest.mark.timeout(3000)
def test_drawn_adapters(base_of: Callable[[str], Path], tmp_path: Path) -> None:
    counts: dict[str, int] = {}
    for seed in range(200):
        base, folder = base_of(list(drawn.BASES)[seed % len(drawn.BASES)]), tmp_path / str(seed)
        unusual = drawn.draw(base, folder / "adapter", seed)
        ways = {"merged": merged, "server": served, "apart": scored, "back": back} if seed % 4 == 0 else WAYS
        try:
            refusal = check(base, folder / "adapter", folder / "out", ways)
        except Exception as error:
            config = json.loads((folder / "adapter" / "adapter_config.json").read_text())
            raise AssertionError(f"seed {seed}, {base}, {unusual}, {config}") from error
        kind = "equal" if refusal is None else "merged alone" if OUTSIDE in refusal else "refused"
        counts[kind] = counts.get(kind, 0) + 1
        print(seed, *unusual, str(refusal).replace(str(folder), ""), sep=" | ")
    print(counts)
    assert min(counts["equal"], counts["refused"]) > 30
