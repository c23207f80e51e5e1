"""Low-rank adapters between PEFT's folder and a Megatron checkpoint, apart and merged."""

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from common.errors import UserError
from data.adapter_record import AdapterRecord, write_adapter_record
from data.checkpoint_folder import copy_hf_files, write_tracker
from models.checkpoint.adapter_folder import read_adapter
from tests import tiny
from tests.toolkits.checkpoints import build_idefics2, convert, read_hf, same
from toolkits.model_checkpoints_convertor.lora import write_megatron_adapter
from toolkits.model_checkpoints_convertor.sources import HfSource
from toolkits.model_checkpoints_convertor.torch_dist_weights import Entry, TorchDistWriter

RANK, ALPHA = 3, 12
PREFIX = "base_model.model."


def build_adapter(folder: Path, weights: dict[str, torch.Tensor], **changes: object) -> dict[str, torch.Tensor]:
    """As PEFT saves one for every projection of the language model."""
    names = [name for name in weights if "text_model.layers" in name and name.endswith("_proj.weight")]
    tensors = {}
    for number, name in enumerate(names):
        generator = torch.Generator().manual_seed(number)
        rows, columns = weights[name].shape
        stem = PREFIX + name.removesuffix(".weight")
        tensors[f"{stem}.lora_A.weight"] = torch.randn(RANK, columns, generator=generator)
        tensors[f"{stem}.lora_B.weight"] = torch.randn(rows, RANK, generator=generator)
    folder.mkdir()
    save_file(tensors, folder / "adapter_model.safetensors")
    fields = {"peft_type": "LORA", "r": RANK, "lora_alpha": ALPHA, "bias": "none", **changes}
    (folder / "adapter_config.json").write_text(json.dumps(fields))
    return tensors


def merged(weights: dict[str, torch.Tensor], adapter: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    result = dict(weights)
    for name in weights:
        stem = PREFIX + name.removesuffix(".weight")
        if f"{stem}.lora_A.weight" in adapter:
            a, b = adapter[f"{stem}.lora_A.weight"], adapter[f"{stem}.lora_B.weight"]
            result[name] = weights[name] + ALPHA / RANK * (b @ a)
    return result


def test_an_adapter_goes_through_megatron_unchanged_or_merged(tmp_path: Path) -> None:
    weights = build_idefics2(tmp_path / "hf")
    adapter = build_adapter(tmp_path / "peft", weights)
    flags = {"adapter_path": tmp_path / "peft"}
    convert("hf2mg", tmp_path / "hf", tmp_path / "mg", lora="apart", **flags)
    assert json.loads((tmp_path / "mg" / "release" / "adapter.json").read_text()) == {"rank": RANK, "alpha": ALPHA}
    convert("mg2hf", tmp_path / "mg", tmp_path / "peft2", lora="apart")
    assert same(load_file(tmp_path / "peft2" / "adapter_model.safetensors"), adapter)
    fields = json.loads((tmp_path / "peft2" / "adapter_config.json").read_text())
    assert (fields["r"], fields["lora_alpha"], fields["peft_type"]) == (RANK, ALPHA, "LORA")
    expected = merged(weights, adapter)
    convert("mg2hf", tmp_path / "mg", tmp_path / "merged")
    convert("hf2mg", tmp_path / "hf", tmp_path / "mg2", **flags)
    convert("mg2hf", tmp_path / "mg2", tmp_path / "merged2")
    for folder in ("merged", "merged2"):
        found = read_hf(tmp_path / folder)
        assert found.keys() == expected.keys()
        assert all(torch.allclose(found[name], expected[name], atol=1e-5, rtol=1e-5) for name in found)
    changed = [name for name in weights if not expected[name].equal(weights[name])]
    assert len(changed) == 2 * 7


def test_merged_into_fp32_nothing_is_rounded_to_the_weights_bf16(tmp_path: Path) -> None:
    """A few steps change a weight by less than bf16 tells apart."""
    weights = build_idefics2(tmp_path / "hf")
    convert("hf2mg", tmp_path / "hf", tmp_path / "half", dtype="bf16")
    convert("mg2hf", tmp_path / "half", tmp_path / "hf16")
    halved = {name: weight.float() for name, weight in read_hf(tmp_path / "hf16").items()}
    adapter = build_adapter(tmp_path / "peft", weights)
    convert("mg2hf", tmp_path / "half", tmp_path / "merged", adapter_path=tmp_path / "peft", dtype="fp32")
    found, expected = read_hf(tmp_path / "merged"), merged(halved, adapter)
    assert all(weight.dtype == torch.float32 for weight in found.values())
    assert all(torch.allclose(found[name], expected[name], atol=1e-5, rtol=1e-5) for name in found)


@pytest.mark.parametrize("lora", [pytest.param("apart", marks=pytest.mark.slow), "merged"])
def test_verify_knows_what_is_rounded(tmp_path: Path, lora: str) -> None:
    """Merged, the sum is rounded to bf16; apart, the base alone."""
    policy = tiny.build_policy(tmp_path / "hf")
    build_adapter(tmp_path / "peft", load_file(policy / "model.safetensors"))
    convert("hf2mg", policy, tmp_path / "half", dtype="bf16")
    halved = convert("mg2hf", tmp_path / "half", tmp_path / "hf16")
    for number, (base, dtype) in enumerate(((policy, "bf16"), (halved, "auto"), (halved, "fp32"))):
        flags = {"adapter_path": tmp_path / "peft", "lora": lora, "dtype": dtype, "verify": True}
        convert("hf2mg", base, tmp_path / f"mg{number}", **flags)


def write_adapters_alone(folder: Path, hf: Path, peft: Path, base: Path, **besides: torch.Tensor) -> None:
    """A Megatron checkpoint as a run of adapters saves it, with tensors that were trained besides them."""
    source = HfSource(hf)
    weights = folder / "iter_0000002"
    weights.mkdir(parents=True)
    copy_hf_files(hf, folder)
    with TorchDistWriter(weights) as writer:
        adapter = read_adapter(peft, source.family, source.config)
        write_megatron_adapter(adapter, writer, source.family, source.config, weights)
        for key, tensor in besides.items():
            writer.write(Entry(key, tensor.to("meta")), tensor)
    write_adapter_record(AdapterRecord(RANK, ALPHA, base), weights)
    write_tracker(folder, "2")


def test_adapters_saved_alone_find_their_base(tmp_path: Path) -> None:
    weights = build_idefics2(tmp_path / "hf")
    expected = merged(weights, build_adapter(tmp_path / "peft", weights))
    convert("hf2mg", tmp_path / "hf", tmp_path / "mg")
    write_adapters_alone(tmp_path / "run", tmp_path / "hf", tmp_path / "peft", tmp_path / "mg" / "release")
    convert("mg2hf", tmp_path / "run", tmp_path / "merged")
    found = read_hf(tmp_path / "merged")
    assert all(torch.allclose(found[name], expected[name], atol=1e-5, rtol=1e-5) for name in expected)
    (tmp_path / "mg").rename(tmp_path / "moved")
    with pytest.raises(UserError, match=r"base is not at .*release any more; name it with --base_path"):
        convert("mg2hf", tmp_path / "run", tmp_path / "again")
    convert("mg2hf", tmp_path / "run", tmp_path / "again", base_path=tmp_path / "moved")
    convert("mg2hf", tmp_path / "run", tmp_path / "over_hf", base_path=tmp_path / "hf")
    assert same(read_hf(tmp_path / "again"), found) and same(read_hf(tmp_path / "over_hf"), found)


def test_what_was_trained_besides_the_adapters_is_exported_too(tmp_path: Path) -> None:
    weights = build_idefics2(tmp_path / "hf")
    build_adapter(tmp_path / "peft", weights)
    convert("hf2mg", tmp_path / "hf", tmp_path / "mg")
    name = "model.connector.modality_projection.down_proj.weight"
    besides = {name.removeprefix("model."): weights[name] + 1}
    base = tmp_path / "mg" / "release"
    write_adapters_alone(tmp_path / "run", tmp_path / "hf", tmp_path / "peft", base, **besides)
    convert("mg2hf", tmp_path / "run", tmp_path / "merged")
    assert read_hf(tmp_path / "merged")[name].equal(weights[name] + 1)
    with pytest.raises(UserError, match=f"a PEFT folder cannot hold {name}, which was trained, too"):
        convert("mg2hf", tmp_path / "run", tmp_path / "peft2", lora="apart")


def test_peft_itself_reads_what_is_written(tmp_path: Path) -> None:
    peft = pytest.importorskip("peft", reason="needs the peft package, which Elcano does not")
    from transformers import AutoModelForImageTextToText

    weights = build_idefics2(tmp_path / "hf")
    expected = merged(weights, build_adapter(tmp_path / "peft", weights))
    convert("hf2mg", tmp_path / "hf", tmp_path / "mg", lora="apart", adapter_path=tmp_path / "peft")
    convert("mg2hf", tmp_path / "mg", tmp_path / "peft2", lora="apart")
    model = AutoModelForImageTextToText.from_pretrained(tmp_path / "hf")
    state = peft.PeftModel.from_pretrained(model, tmp_path / "peft2").merge_and_unload().state_dict()
    assert all(torch.allclose(state[name], expected[name], atol=1e-5, rtol=1e-5) for name in expected)


def test_what_is_no_plain_adapter_of_this_model_is_refused(tmp_path: Path) -> None:
    weights = build_idefics2(tmp_path / "hf")
    build_adapter(tmp_path / "dora", weights, use_dora=True)
    build_adapter(tmp_path / "rank", weights, r=RANK + 1)
    other = {name.replace("layers.0", "layers.7"): tensor for name, tensor in weights.items()}
    build_adapter(tmp_path / "other", other)
    for name, message, lora in (
        ("dora", "use_dora True: only low-rank matrices", "merged"),
        ("rank", "do not fit", "merged"),
        ("other", "adapts no linear layer of a idefics2 of this size", "merged"),
    ):
        with pytest.raises(UserError, match=message):
            convert("hf2mg", tmp_path / "hf", tmp_path / "out", lora=lora, adapter_path=tmp_path / name)
        assert not (tmp_path / "out").exists()
