"""OpenWebVoyager's Megatron layout, both ways, against a checkpoint made to its published map."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import Idefics2Config

from common.errors import UserError
from tests.toolkits.checkpoints import IDEFICS2, build_idefics2, convert, read_hf, same
from tests.toolkits.legacy_reference import write_legacy_checkpoint


def read_ranks(folder: Path) -> dict[str, torch.Tensor]:
    """Every tensor of every rank, by rank and path, with the names of a release; read by torch.load itself."""
    found: dict[str, torch.Tensor] = {}
    for path in folder.glob("mp_rank_*/model_optim_rng.pt"):
        content = torch.load(path, weights_only=False)  # made by this test or by our writer
        _collect(content["model"], path.parent.name[:10], found)
    return found


def _collect(value: Any, key: str, found: dict[str, torch.Tensor]) -> None:
    for name, inner in value.items() if isinstance(value, dict) else ():
        name = name.replace("input_norm", "input_layernorm").replace("attention_norm", "attention_layernorm")
        name = name.replace("final_norm", "final_layernorm")
        if isinstance(inner, torch.Tensor):
            found[f"{key}/{name}"] = inner
        elif name not in ("lm_head", "word_embeddings_for_head"):
            _collect(inner, f"{key}/{name}", found)


def make(
    folder: Path, tensors: dict[str, torch.Tensor], num_ranks: int, trained: bool, hf: Path, kv_heads: int
) -> Path:
    """A checkpoint folder with its Hugging Face files."""
    perceiver = {**IDEFICS2["perceiver_config"], "num_key_value_heads": kv_heads}
    config = Idefics2Config.from_dict({**IDEFICS2, "perceiver_config": perceiver})
    name = "iter_0000300" if trained else "release"
    write_legacy_checkpoint(folder / name, tensors, config, num_ranks, trained)
    (folder / "latest_checkpointed_iteration.txt").write_text("300" if trained else "release")
    (folder / "config.json").write_bytes((hf / "config.json").read_bytes())
    return folder


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_release_at_tp8_becomes_hugging_face_and_itself_again(tmp_path: Path, dtype: torch.dtype) -> None:
    tensors = build_idefics2(tmp_path / "hf", dtype)
    legacy = make(tmp_path / "legacy", tensors, 8, False, tmp_path / "hf", kv_heads=4)
    convert("mg2hf", legacy, tmp_path / "back")
    assert same(read_hf(tmp_path / "back"), tensors)
    fields = json.loads((tmp_path / "back" / "config.json").read_text())
    assert fields["perceiver_config"]["num_key_value_heads"] == 4
    convert("hf2mg", tmp_path / "back", tmp_path / "again", format="legacy")
    ours, theirs = (read_ranks(folder / "release") for folder in (tmp_path / "again", legacy))
    assert len(theirs) > 8 * 60 and same(ours, theirs)
    content = torch.load(tmp_path / "again" / "release" / "mp_rank_07" / "model_optim_rng.pt", weights_only=False)
    assert content["checkpoint_version"] == 3.0 and content["args"].tensor_model_parallel_size == 8
    assert content["model"]["lm_head"]["weight"].equal(content["model"]["language_model"]["output_layer"]["weight"])
    words = content["model"]["language_model"]["embedding"]["word_embeddings"]["weight"]
    assert content["model"]["word_embeddings_for_head"]["weight"].equal(words) and words.shape == (32, 64)


def test_a_trained_one_keeps_all_its_perceiver_heads(tmp_path: Path) -> None:
    """Its names differ, an optimizer and random states lie beside the weights, and its copies were trained apart."""
    build_idefics2(tmp_path / "base")
    tensors = build_idefics2(tmp_path / "hf", torch.bfloat16, num_key_value_heads=16)
    legacy = make(tmp_path / "legacy", tensors, 8, True, tmp_path / "base", kv_heads=16)
    convert("mg2hf", legacy / "iter_0000300", tmp_path / "back")
    assert same(read_hf(tmp_path / "back"), tensors)
    fields = json.loads((tmp_path / "back" / "config.json").read_text())
    assert fields["perceiver_config"]["num_key_value_heads"] == 16 and fields["dtype"] == "bfloat16"
    convert("hf2mg", tmp_path / "back", tmp_path / "again", format="legacy")
    ours, theirs = read_ranks(tmp_path / "again" / "release"), read_ranks(legacy / "iter_0000300")
    assert same(ours, theirs)


@pytest.mark.parametrize("num_ranks", [1, 2, 4])
def test_other_sizes_reach_torch_dist_and_each_other(tmp_path: Path, num_ranks: int) -> None:
    tensors = build_idefics2(tmp_path / "hf")
    legacy = make(tmp_path / "legacy", tensors, num_ranks, False, tmp_path / "hf", kv_heads=4)
    convert("hf2mg", legacy, tmp_path / "torch_dist")
    convert("hf2mg", tmp_path / "torch_dist", tmp_path / "tp8", format="legacy")
    convert("hf2mg", tmp_path / "tp8", tmp_path / "again", format="legacy", target_tensor_model_parallel_size=num_ranks)
    assert same(read_ranks(tmp_path / "again" / "release"), read_ranks(legacy / "release"))
    convert("mg2hf", tmp_path / "torch_dist", tmp_path / "back")
    assert same(read_hf(tmp_path / "back"), tensors)


def test_fresh_extra_rows_are_as_many_as_asked_for(tmp_path: Path) -> None:
    tensors = build_idefics2(tmp_path / "hf")
    flags = {"format": "legacy", "target_tensor_model_parallel_size": 2, "extra_num_vocabs": 3}
    convert("hf2mg", tmp_path / "hf", tmp_path / "legacy", **flags)
    ranks = read_ranks(tmp_path / "legacy" / "release")
    names = ("embedding/word_embeddings", "output_layer")
    words, head = (torch.cat([ranks[f"mp_rank_0{r}/language_model/{name}/weight"] for r in (0, 1)]) for name in names)
    assert len(words) == 131 + 3 and words[131:].equal(head[131:]) and 0.01 < words[131:].std() < 0.03
    convert("mg2hf", tmp_path / "legacy", tmp_path / "back")
    assert same(read_hf(tmp_path / "back"), tensors)


def test_what_does_not_fit_is_refused(tmp_path: Path) -> None:
    tensors = build_idefics2(tmp_path / "hf")
    legacy = make(tmp_path / "legacy", tensors, 4, False, tmp_path / "hf", kv_heads=4)
    (legacy / "release" / "mp_rank_03").rename(tmp_path / "elsewhere")
    with pytest.raises(UserError, match="is one of 4 ranks, but 3 are here"):
        convert("mg2hf", legacy, tmp_path / "back")
    with pytest.raises(UserError, match="TP=16 does not divide the model's 8 key/value heads"):
        convert("hf2mg", tmp_path / "hf", tmp_path / "out", format="legacy", target_tensor_model_parallel_size=16)
    (legacy / "release" / "mp_rank_03_001").mkdir()
    with pytest.raises(UserError, match="only PP=1"):
        convert("mg2hf", legacy, tmp_path / "back")
    assert not (tmp_path / "back").exists() and not (tmp_path / "out").exists()
