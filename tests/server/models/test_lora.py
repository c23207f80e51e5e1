"""Adapters in one batch say what models with their weights merged in would say."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from common.errors import UserError
from server.engine.engine import Engine, EngineConfig
from server.engine.model.prompt import build_prompt
from server.engine.model.vision_language_model import LoadOptions, VisionLanguageModel
from server.engine.sampling import SamplingParams
from tests.server.helpers import observation

LAYERS = {"self_attn.q_proj": (64, 64), "mlp.down_proj": (128, 64)}  # inputs and outputs of tiny_policy's
ROOT = "base_model.model.model.text_model.layers.1"


def save_adapter(folder: Path, seed: int, **changes: object) -> Path:
    """A PEFT folder with random matrices, strong enough to change replies."""
    folder.mkdir()
    (folder / "adapter_config.json").write_text(
        json.dumps({"peft_type": "LORA", "r": 4, "lora_alpha": 8, "bias": "none", **changes})
    )
    generator = torch.Generator().manual_seed(seed)
    weights = {}
    for layer, (inputs, outputs) in LAYERS.items():
        weights[f"{ROOT}.{layer}.lora_A.weight"] = torch.randn(4, inputs, generator=generator) * 0.2
        weights[f"{ROOT}.{layer}.lora_B.weight"] = torch.randn(outputs, 4, generator=generator) * 0.2
    save_file(weights, folder / "adapter_model.safetensors")
    return folder


def merged(policy: Path, adapter: Path) -> VisionLanguageModel:
    """The policy with `2 * B @ A` added to its layers."""
    from safetensors.torch import load_file

    model = VisionLanguageModel(policy, LoadOptions(device="cpu"))
    weights = load_file(adapter / "adapter_model.safetensors")
    for layer in LAYERS:
        linear = model.hf_model.get_submodule(f"{ROOT}.{layer}".removeprefix("base_model.model."))
        linear.weight.data += 2 * weights[f"{ROOT}.{layer}.lora_B.weight"] @ weights[f"{ROOT}.{layer}.lora_A.weight"]
    return model


def test_adapters_share_a_batch(tiny_policy: Path, tmp_path: Path) -> None:
    folders = {name: save_adapter(tmp_path / name, seed) for seed, name in enumerate(["red", "blue"])}
    options = LoadOptions(device="cpu", adapters={name: str(folder) for name, folder in folders.items()})
    model = VisionLanguageModel(tiny_policy, options)
    alone = {"": VisionLanguageModel(tiny_policy, LoadOptions(device="cpu"))}
    alone |= {name: merged(tiny_policy, folder) for name, folder in folders.items()}
    params = SamplingParams(temperature=0, max_new_tokens=12)
    engine = Engine(model, EngineConfig(prefill_chunk=40))
    asked = {}
    for seed in range(2):
        messages = [{"role": "user", "content": [{"type": "text", "text": observation(seed, 12)}]}]
        for name in ("", "red", "blue"):
            prompt = build_prompt(messages, [], model, engine.cache, name)
            asked[seed, name] = prompt, engine.submit(prompt, params)
    replies = {key: future.result(60).token_ids for key, (_, future) in asked.items()}
    engine.stop()
    for (seed, name), (prompt, _) in asked.items():
        ids = torch.tensor([prompt.token_ids])
        expected = alone[name].hf_model.generate(
            input_ids=ids, do_sample=False, min_new_tokens=3, max_new_tokens=12, eos_token_id=model.eos_ids
        )
        assert replies[seed, name] == expected[0, ids.shape[1] :].tolist()
    assert len({tuple(replies[0, name]) for name in ("", "red", "blue")}) == 3


def drop_half(folder: Path) -> None:
    path = f"{ROOT}.mlp.down_proj"
    save_file({f"{path}.lora_A.weight": torch.zeros(4, 128)}, folder / "adapter_model.safetensors")


def other_shape(folder: Path) -> None:
    weights = {f"{ROOT}.mlp.down_proj.lora_{x}.weight": torch.zeros(4, 4) for x in "AB"}
    save_file(weights, folder / "adapter_model.safetensors")


@pytest.mark.parametrize(
    ("damage", "changes", "words"),
    [
        (lambda folder: (folder / "adapter_model.safetensors").unlink(), {}, "has no adapter_model.safetensors"),
        (drop_half, {}, "the other half"),
        (other_shape, {}, "do not fit"),
        (lambda folder: None, {"use_dora": True}, "use_dora True: only low-rank matrices"),
    ],
)
def test_broken_adapters_are_refused(
    tiny_policy: Path, tmp_path: Path, damage: Callable[[Path], None], changes: dict[str, object], words: str
) -> None:
    folder = save_adapter(tmp_path / "red", 0, **changes)
    damage(folder)
    with pytest.raises(UserError, match=words):
        VisionLanguageModel(tiny_policy, LoadOptions(device="cpu", adapters={"red": str(folder)}))
