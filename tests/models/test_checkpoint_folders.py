"""A checkpoint folder is read as transformers reads it, or refused: by converter and server, in the same words."""

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from transformers.utils import logging

from common.errors import UserError
from models.registry import family
from server.engine.model.vision_language_model import LoadOptions, VisionLanguageModel
from server.hf_online_server import check_folder
from tests.models import drawn_folders
from tests.models.drawn_folders import CHANGES, EMBEDDING, HEAD, edit, rewrite, shard, weights_of
from tests.tiny import text_only
from tests.toolkits.checkpoints import convert
from toolkits import average_checkpoints

Loaded = dict[str, torch.Tensor]
PICKLED = "pickled weights are not read"


def transformers_own(folder: Path) -> Loaded:
    """What transformers makes of it; it raises what transformers raises."""
    logging.set_verbosity_error()
    return family(folder).auto_model().from_pretrained(folder, dtype=torch.float32).state_dict()


def converted(folder: Path, out: Path) -> Loaded:
    convert("hf2mg", folder, out / "mg")
    return transformers_own(convert("mg2hf", out / "mg", out / "hf"))


def served(folder: Path, _: Path) -> Loaded:
    try:
        check_folder(folder)
    except UserError as error:
        if PICKLED not in str(error):  # which the command refuses, though the model would be read
            raise
    return VisionLanguageModel(folder, LoadOptions(device="cpu")).hf_model.state_dict()


def averaged(folder: Path, out: Path) -> Loaded:
    average_checkpoints.main(average_checkpoints.Config((folder, folder), out / "mean"))
    return transformers_own(out / "mean")


WAYS = {"hf2mg": converted, "server": served, "average": averaged}


def outcomes(folder: Path, out: Path) -> dict[str, str | Loaded]:
    """Of each way the weights, or its refusal."""
    found: dict[str, str | Loaded] = {}
    for name, way in WAYS.items():
        (out / name).mkdir(parents=True)
        try:
            found[name] = way(folder, out / name)
        except UserError as error:
            found[name] = str(error)
            assert not any((out / name).iterdir()), "something was written"
    return found


def check(folder: Path, out: Path) -> str | None:
    """The refusal in which all agree; None where all read what transformers reads."""
    found = outcomes(folder, out)
    if refusals := {value for value in found.values() if isinstance(value, str)}:
        assert len(refusals) == 1 and all(isinstance(value, str) for value in found.values()), found
        (refusal,) = refusals
        assert refusal.startswith(str(folder)) and "\n" not in refusal, refusal
        return refusal
    expected = transformers_own(folder)
    for name, weights in found.items():
        assert isinstance(weights, dict) and weights.keys() == expected.keys(), name
        assert all(weights[key].float().equal(expected[key].float()) for key in expected), name
    return None


@pytest.fixture
def llama(tmp_path: Path) -> Path:
    return text_only.build_policy(tmp_path / "llama", "llama", layers=2)


def _two_sets(folder: Path, rng: random.Random) -> None:
    weights = weights_of(folder)
    shard(folder, {name: one + 1 for name, one in weights.items()}, 2)


def _merged_beside_some_shards(folder: Path, rng: random.Random) -> None:
    shard(folder, weights_of(folder), 3)[2].unlink()


def _two_pickles(folder: Path, rng: random.Random) -> None:
    weights = weights_of(folder)
    torch.save(weights, folder / "pytorch_model.bin")
    shard(folder, {name: one + 1 for name, one in weights.items()}, 2, "bin")
    (folder / "model.safetensors").unlink()


def _redirected(folder: Path, rng: random.Random) -> None:
    save_file(weights_of(folder), folder / "other.safetensors", {"format": "pt"})
    edit(folder, transformers_weights="other.safetensors")


def _resized(*names: str, rows: int) -> Callable[[Path, random.Random], None]:
    def change(folder: Path, rng: random.Random) -> None:
        weights = weights_of(folder)
        for name in names:
            weights[name] = torch.cat([weights[name], weights[name]])[: 512 + rows]
        rewrite(folder, weights)

    return change


def _quantized_inside(folder: Path, rng: random.Random) -> None:
    edit(folder, text_config={"quantization_config": {"quant_method": "gptq"}})


def _quantized_by(value: object) -> Callable[[Path, random.Random], None]:
    return lambda folder, rng: edit(folder, quantization_config=value)


def _with_biases(**fields: bool) -> Callable[[Path, random.Random], None]:
    """As config.json asks, with or without those that it asks for in the weights."""

    def change(folder: Path, rng: random.Random) -> None:
        edit(folder, **fields)
        if fields.pop("attention_bias", False):
            weights = weights_of(folder)
            rewrite(folder, weights | {"model.layers.0.self_attn.q_proj.bias": torch.zeros(64)})

    return change


def _index(change: Callable[[dict], object]) -> Callable[[Path, random.Random], None]:
    def edited(folder: Path, rng: random.Random) -> None:
        drawn_folders.only_shards(folder, rng)
        path = folder / "model.safetensors.index.json"
        content = json.loads(path.read_text())
        change(content)
        path.write_text(json.dumps(content))

    return edited


def _in_a_folder(folder: Path, rng: random.Random) -> None:
    drawn_folders.only_shards(folder, rng)
    (folder / "parts").mkdir()
    for path in folder.glob("model-*.safetensors"):
        path.rename(folder / "parts" / path.name)
    index = folder / "model.safetensors.index.json"
    index.write_text(index.read_text().replace('"model-', '"parts/model-'))


def _compressed(folder: Path, rng: random.Random) -> None:
    edit(folder, compression_config={"quant_method": "compressed-tensors"})


REFUSED = {
    "two sets": (_two_sets, "two sets of weights"),
    "one whole, some shards": (_merged_beside_some_shards, "two sets of weights"),
    "two pickled sets": (_two_pickles, "two sets of weights"),
    "another file": (_redirected, "transformers_weights"),
    "rows added": (_resized(EMBEDDING, HEAD, rows=8), '"vocab_size": 520'),
    "rows gone": (_resized(EMBEDDING, HEAD, rows=-1), '"vocab_size": 511'),
    "one of two resized": (_resized(HEAD, rows=64), "lm_head.weight is [576, 64]"),
    "bits": (CHANGES["low_bits"], "is quantized"),
    "scales": (CHANGES["quantized_parts"], "is quantized"),
    "config": (CHANGES["quantized_by_config"], "quantization_config in config.json"),
    "config of a part": (_quantized_inside, "gptq"),
    "config of no kind": (_quantized_by({}), "of no named method"),
    "config of another type": (_quantized_by(["fp8"]), "of no named method"),
    "biases of attention": (_with_biases(attention_bias=True), '{"attention_bias": true}'),
    "biases of a layer": (_with_biases(mlp_bias=True), '{"mlp_bias": true}'),
    "an index of no names": (_index(lambda content: content.update(weight_map={})), "has no weight_map"),
    "an index into a folder": (_in_a_folder, "is not in this folder"),
    "older field": (_compressed, "compressed-tensors"),
    "its own file": (CHANGES["quantized_by_file"], "is quantized"),
    "tied, but another": (CHANGES["tied_but_other"], "tie_word_embeddings"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_by_all_in_the_same_words(name: str, llama: Path, tmp_path: Path) -> None:
    change, words = REFUSED[name]
    change(llama, random.Random(name))
    assert words in (check(llama, tmp_path / "out") or "was read")


TAKEN = (
    "only_shards",
    "bin",
    "bin_beside",
    "index_of_files_gone",
    "other_files",
    "tied",
    "tied_with_copy",
    "buffers",
    "half",
)


@pytest.mark.parametrize("name", TAKEN)
def test_read_by_all_as_transformers_does(name: str, llama: Path, tmp_path: Path) -> None:
    CHANGES[name](llama, random.Random(name))
    assert check(llama, tmp_path / "out") is None


def test_the_server_says_of_pickles_what_makes_them_servable(llama: Path) -> None:
    CHANGES["bin"](llama, random.Random(0))
    save_file({"x": torch.zeros(2)}, llama / "consolidated.safetensors")  # which nobody reads
    with pytest.raises(UserError, match=f"{PICKLED}; hf2mg.sh"):
        check_folder(llama)


def test_an_index_that_transformers_cannot_load_is_refused_by_the_server(llama: Path, tmp_path: Path) -> None:
    _index(lambda content: content.pop("metadata"))(llama, random.Random(0))
    with pytest.raises(UserError, match=r'write "metadata": \{\} into it'):
        check_folder(llama)
    converted(llama, tmp_path)


def test_inspect_tells_of_a_refused_folder_why(llama: Path, capsys: pytest.CaptureFixture[str]) -> None:
    CHANGES["quantized_by_config"](llama, random.Random(0))
    convert("hf2mg", llama, llama / "unused", inspect=True)
    said = capsys.readouterr().out
    assert "model.norm.weight" in said and "is quantized" in said.splitlines()[-1]


@pytest.mark.parametrize("seed", range(2))
def test_a_few_drawn_folders(seed: int, tmp_path: Path) -> None:
    drawn_folders.draw(tmp_path / "policy", 5 * seed)
    check(tmp_path / "policy", tmp_path / "out")


@pytest.mark.slow
def test_drawn_folders(tmp_path: Path) -> None:
    taken: dict[str, int] = {}
    for seed in range(100):
        folder = tmp_path / str(seed)
        changes = drawn_folders.draw(folder / "policy", seed)
        try:
            refusal = check(folder / "policy", folder / "out")
        except Exception as error:
            raise AssertionError(f"seed {seed}, {changes}") from error
        taken["refused" if refusal else "read"] = taken.get("refused" if refusal else "read", 0) + 1
        print(seed, *changes, refusal.replace(str(folder), "") if refusal else "read", sep=" | ")
    print(taken)
    assert min(taken["read"], taken["refused"]) > 20
