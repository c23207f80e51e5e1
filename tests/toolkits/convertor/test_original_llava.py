"""LLaVA's own layout, as its authors and PAE save it, becomes Hugging Face's."""

import json
import subprocess
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from common.errors import UserError
from tests.conftest import ROOT
from tests.tiny import llava
from tests.toolkits.checkpoints import convert, read_hf
from toolkits.model_checkpoints_convertor.convert import Config, main
from toolkits.model_checkpoints_convertor.inspect_checkpoint import describe

EXTRA = 3
"""Rows of the vocabulary that LLaVA's authors have not."""
THEIRS = {
    "language_model.model.": "model.",
    "language_model.lm_head.": "lm_head.",
    "multi_modal_projector.linear_1.": "model.mm_projector.0.",
    "multi_modal_projector.linear_2.": "model.mm_projector.2.",
    "vision_tower.": "model.vision_tower.vision_tower.",
    "image_newline": "model.image_newline",
}


@pytest.fixture(scope="module", params=[False, pytest.param(True, marks=pytest.mark.slow)], ids=["llava", "llava_next"])
def twin(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hf") / "hf"
    llava.build_policy(folder, is_next=request.param, text="mistral" if request.param else "llama")
    return convert("hf2mg", folder, folder.with_name("mg")) and convert(
        "mg2hf", folder.with_name("mg"), folder.with_name("released")
    )


def theirs(twin: Path) -> dict[str, torch.Tensor]:
    """The twin's tensors by the names of LLaVA's authors, without the rows that are not theirs."""
    named = {}
    for name, tensor in read_hf(twin).items():
        start = next(start for start in THEIRS if name.startswith(start))
        is_vocabulary = name.endswith(("embed_tokens.weight", "lm_head.weight"))
        named[THEIRS[start] + name.removeprefix(start)] = tensor[:-EXTRA].clone() if is_vocabulary else tensor
    return named


def save(folder: Path, tensors: dict[str, torch.Tensor]) -> Path:
    folder.mkdir()
    fields = {"model_type": "llava_mistral", "mm_vision_tower": "openai/clip-vit-large-patch14-336"}
    (folder / "config.json").write_text(json.dumps(fields))
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


def check(found: dict[str, torch.Tensor], twin: Path, changed: dict[str, torch.Tensor] | None = None) -> None:
    expected = read_hf(twin) | (changed or {})
    assert found.keys() == expected.keys()
    for name, tensor in expected.items():
        if name.endswith(("embed_tokens.weight", "lm_head.weight")):
            own = tensor[:-EXTRA]
            tensor = torch.cat([own, own.float().mean(0).to(tensor.dtype).expand(EXTRA, -1)])
        torch.testing.assert_close(found[name], tensor, rtol=0, atol=0, msg=name)


def test_a_folder_becomes_hugging_faces_and_megatrons(twin: Path, tmp_path: Path) -> None:
    newline = {"model.image_newline": torch.ones(64)}  # LLaVA 1.6's, which nothing uses where an image is one square
    original = save(tmp_path / "llava-v1.6", newline | theirs(twin))
    check(read_hf(convert("mg2hf", original, tmp_path / "hf", config_path=twin)), twin)
    megatron = convert("hf2mg", original, tmp_path / "mg", config_path=twin)
    check(read_hf(convert("mg2hf", megatron, tmp_path / "back")), twin)
    assert "LLaVA's own layout" in describe(original) and "model.mm_projector.*.weight" in describe(original)


def test_a_tower_that_was_left_alone_is_the_twins(twin: Path, tmp_path: Path) -> None:
    own = {name: tensor for name, tensor in theirs(twin).items() if "vision_tower" not in name}
    original = save(tmp_path / "llava-v1.5", own)
    check(read_hf(convert("mg2hf", original, tmp_path / "hf", config_path=twin)), twin)
    bare = tmp_path / "bare"
    bare.mkdir()
    (bare / "config.json").write_bytes((twin / "config.json").read_bytes())
    with pytest.raises(UserError, match="has no vision tower of its own, so --config_path must have the weights"):
        convert("mg2hf", original, tmp_path / "none", config_path=bare)


def test_paes_model_pt_with_its_adapters(twin: Path, tmp_path: Path) -> None:
    """As `get_peft_model` names them, on the language model's and, with `train_vision`, the other linear layers."""
    tensors, changed, adapted = theirs(twin), {}, {}
    generator = torch.Generator().manual_seed(0)
    hf_names = {"model.layers.0.self_attn.v_proj": "language_model.model.layers.0.self_attn.v_proj.weight"}
    hf_names |= {"model.layers.1.mlp.down_proj": "language_model.model.layers.1.mlp.down_proj.weight"}
    hf_names |= {"model.mm_projector.2": "multi_modal_projector.linear_2.weight"}
    for stem, name in hf_names.items():
        weight = tensors.pop(f"{stem}.weight")
        a, b = (torch.randn(*shape, generator=generator) for shape in ((4, weight.size(1)), (weight.size(0), 4)))
        adapted |= {f"{stem}.base_layer.weight": weight, f"{stem}.lora_A.default.weight": a}
        adapted |= {f"{stem}.lora_B.default.weight": b}
        changed[name] = (weight.float() + 2 * b @ a).to(weight.dtype)
        if f"{stem}.bias" in tensors:
            adapted[f"{stem}.base_layer.bias"] = tensors.pop(f"{stem}.bias")
    folder = tmp_path / "save_path"
    folder.mkdir()
    torch.save(
        {f"base_model.model.{name}": tensor for name, tensor in (tensors | adapted).items()}, folder / "model.pt"
    )
    with pytest.raises(UserError, match=r"has adapters, and nothing says their alpha; say it with --lora_alpha"):
        convert("mg2hf", folder, tmp_path / "none", config_path=twin)
    found = read_hf(convert("mg2hf", folder, tmp_path / "hf", config_path=twin, lora_alpha=8))
    for name, tensor in changed.items():
        torch.testing.assert_close(found.pop(name), tensor, rtol=1e-5, atol=1e-5)
    expected = {name: tensor for name, tensor in read_hf(twin).items() if name not in changed}
    assert found.keys() == expected.keys()
    assert all(found[name].equal(expected[name]) for name in found if "vision_tower" in name or "norm" in name)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"model.layers.0.self_attn.q_proj.weight.absmax": torch.ones(2)},
            "has language_model.model.layers.0.self_attn.q_proj.weight.absmax, which a",
        ),
        ({"model.mm_projector.0.weight": None}, "has no tensor multi_modal_projector.linear_1.weight"),
    ],
)
def test_another_model_is_one_line(twin: Path, tmp_path: Path, change: dict, said: str) -> None:
    tensors = {name: tensor for name, tensor in (theirs(twin) | change).items() if tensor is not None}
    original = save(tmp_path / "original", tensors)
    with pytest.raises(UserError, match=said):
        convert("mg2hf", original, tmp_path / "hf", config_path=twin)
    with pytest.raises(UserError, match="LLaVA's own layout; name a folder of the same model in Hugging Face's"):
        main(Config(direction="mg2hf", load_path=original, save_path=tmp_path / "hf"))
    assert not (tmp_path / "hf").exists()


def test_by_the_published_script(twin: Path, tmp_path: Path) -> None:
    original = save(tmp_path / "original", theirs(twin))
    kind = json.loads((twin / "config.json").read_text())["model_type"]
    script = ROOT / "toolkits" / "model_checkpoints_convertor" / kind / "mg2hf.sh"
    words = ["--load_path", original, "--config_path", twin, "--save_path", tmp_path / "hf", "--verify"]
    done = subprocess.run(["bash", script, *map(str, words)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    check(read_hf(tmp_path / "hf"), twin)
