"""Adapters from training to serving: trained by train_idefics2.sh, saved alone, resumed, merged, exported, served."""

import base64
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForImageTextToText, AutoProcessor

from common.errors import UserError
from data.checkpoint_folder import write_tracker
from data.conversation import split_marks
from server.engine.engine import Engine, EngineConfig
from server.engine.model.prompt import build_prompt
from server.engine.model.vision_language_model import LoadOptions, VisionLanguageModel
from server.engine.model.wire_images import from_predict
from server.engine.sampling import SamplingParams
from tests import tiny
from tests.conftest import ROOT
from tests.forked import run_ranks
from tests.tiny import llava
from tests.toolkits.checkpoints import read_hf
from tests.training.conftest import converted, train
from tests.training.critics.test_score import reference, score
from toolkits.model_checkpoints_convertor.torch_dist_weights import TorchDistReader
from training.config import Config
from training.launch.launch import check, is_complete

RANK, ALPHA = 4, 8.0
OPTIONS = {"lora_rank": RANK, "lora_alpha": ALPHA, "lr": 1e-2, "lr_warmup_iters": 0, "global_batch_size": 8}
OPTIONS |= {"train_iters": 4, "save_interval": 2}


@pytest.fixture(scope="module")
def trained(shards: Path, megatron: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[float]]:
    """(output folder, losses) of four steps at TP=2."""
    output = tmp_path_factory.mktemp("lora")
    return output, train("idefics2", shards, megatron, output, **OPTIONS)


@pytest.fixture(scope="module")
def merged(trained: tuple[Path, list[float]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return converted("mg2hf", trained[0] / "checkpoint" / "run", tmp_path_factory.mktemp("merged") / "hf")


@pytest.fixture(scope="module")
def peft(trained: tuple[Path, list[float]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("peft") / "adapter"
    return converted("mg2hf", trained[0] / "checkpoint" / "run", folder, lora="apart")


def test_adapters_alone_are_trained_and_are_saved(trained: tuple[Path, list[float]], megatron: Path) -> None:
    output, losses = trained
    assert losses[-1] < losses[0] - 0.2
    weights = output / "checkpoint" / "run" / "iter_0000004"
    of_model = [key for key in TorchDistReader(weights).keys() if not key.startswith("optimizer.")]  # noqa: SIM118
    assert len(of_model) == 8 and all(key.endswith((".lora_a", ".lora_b")) for key in of_model)
    recorded = json.loads((weights / "adapter.json").read_text())
    base = (weights / recorded.pop("base")).resolve()
    assert recorded == {"rank": RANK, "alpha": ALPHA} and base == (megatron / "release").resolve()


def test_merging_adds_the_adapters_to_their_projections_alone(policy: Path, merged: Path, peft: Path) -> None:
    base, found, adapters = read_hf(policy), read_hf(merged), load_file(peft / "adapter_model.safetensors")
    assert json.loads((peft / "adapter_config.json").read_text())["lora_alpha"] == ALPHA
    assert base.keys() == found.keys()
    for name, weight in base.items():
        stem = f"base_model.model.{name.removesuffix('.weight')}"
        if f"{stem}.lora_A.weight" in adapters:
            a, b = (adapters.pop(f"{stem}.lora_{side}.weight") for side in "AB")
            assert b.abs().max() > 1e-3
            assert torch.allclose(found[name], weight + ALPHA / RANK * b @ a, atol=1e-6)
        else:
            assert found[name].equal(weight), name
    assert not adapters


def test_the_server_knows_the_adapter_by_name(policy: Path, merged: Path, peft: Path) -> None:
    """It says what Hugging Face's `generate` says with merged weights; without the name, what the base says."""
    model = VisionLanguageModel(policy, LoadOptions(device="cpu", adapters={"run": str(peft)}))
    sample = tiny.sample(0)
    messages = [{"role": "user", "content": split_marks(sample.conversations[0]["value"])}]
    images = from_predict([base64.b64encode(sample.images[0]).decode()])
    engine = Engine(model, EngineConfig(max_batch_size=2, max_queue=8))
    params = SamplingParams(temperature=0, max_new_tokens=8)
    prompts = [build_prompt(messages, images, model, engine.cache, name) for name in ("run", "")]
    replies = [engine.submit(prompt, params).result(60).token_ids for prompt in prompts]
    engine.stop()
    assert replies == [generate(folder, sample, prompts[0].token_ids) for folder in (merged, policy)]
    assert replies[0] != replies[1]


@torch.no_grad()
def generate(folder: Path, sample: Any, ids: list[int]) -> list[int]:
    processor = AutoProcessor.from_pretrained(folder, do_image_splitting=False)
    model = AutoModelForImageTextToText.from_pretrained(folder)
    pixels = processor.image_processor([[tiny.open_picture(sample.images[0])]], return_tensors="pt")
    eos = VisionLanguageModel(folder, LoadOptions(device="cpu")).eos_ids
    new = model.generate(input_ids=torch.tensor([ids]), **pixels, do_sample=False, max_new_tokens=8, eos_token_id=eos)
    return new[0, len(ids) :].tolist()


@pytest.mark.slow
@pytest.mark.parametrize("tp", [1, 2])
def test_base_and_adapters_compute_what_the_merged_weights_do(
    trained: tuple[Path, list[float]], merged: Path, shards: Path, tmp_path: Path, tp: int
) -> None:
    rows = score(trained[0] / "checkpoint" / "run", shards, tmp_path / "s.parquet", token_logprobs="true", tp=tp)
    expected = reference(merged, shards)
    assert [row["id"] for row in rows] == list(expected)
    for row in rows:
        assert row["token_logprobs"] == pytest.approx(expected[row["id"]], abs=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"tp": 1, "dp": 2, "do": "true", "pr": "bf16", "ac": "full"}], ids=str)
def test_a_run_of_adapters_resumes_exactly(
    shards: Path, megatron: Path, tmp_path: Path, options: dict[str, object]
) -> None:
    uninterrupted = train("idefics2", shards, megatron, tmp_path, **{**OPTIONS, **options})
    run = tmp_path / "checkpoint" / "run"
    shutil.rmtree(run / "iter_0000004")
    write_tracker(run, "2")
    shutil.rmtree(tmp_path / "log")
    assert train("idefics2", shards, megatron, tmp_path, **{**OPTIONS, **options}) == uninterrupted[2:]


@pytest.mark.slow
def test_the_next_round_learns_on_with_what_was_trained_beside_the_adapters(
    trained: tuple[Path, list[float]], shards: Path, policy: Path, tmp_path: Path
) -> None:
    """A second run over the first one's adapters, now with the connector; all of it is in the export."""
    first = trained[0] / "checkpoint" / "run"
    losses = train("idefics2", shards, first, tmp_path, **OPTIONS, tp=1, freeze_connector="false")
    assert losses[0] < trained[1][0] - 0.2
    second = tmp_path / "checkpoint" / "run"
    exported = converted("mg2hf", second, tmp_path / "hf")
    rows = score(second, shards, tmp_path / "s.parquet", token_logprobs="true")
    expected = reference(exported, shards)
    for row in rows:
        assert row["token_logprobs"] == pytest.approx(expected[row["id"]], abs=1e-5)
    base = read_hf(policy)
    changed = {name.split(".")[1] for name, tensor in read_hf(exported).items() if not tensor.equal(base[name])}
    assert changed == {"connector", "text_model"}


def test_what_does_not_fit_is_refused_before_any_rank_starts(
    trained: tuple[Path, list[float]], shards: Path, megatron: Path
) -> None:
    def config(**options: Any) -> Config:
        given = {"dataset_path": shards, "pretrain_checkpoint_path": trained[0] / "checkpoint" / "run", "tp": 1}
        return Config(**{**given, "global_batch_size": 8, "num_workers": 0, "pr": "fp32", **options})

    for options in ({}, {"lora_rank": 8, "lora_alpha": ALPHA}, {"lora_rank": RANK}):
        with pytest.raises(UserError, match="train on with LORA_RANK=4 LORA_ALPHA=8, or merge"):
            check(config(**options), 1)
    same = {**OPTIONS, "output_basepath": trained[0], "run_name": "run", "train_iters": 6}
    assert not is_complete(config(**same, pretrain_checkpoint_path=megatron))
    with pytest.raises(UserError, match="began with another trainable"):
        is_complete(config(**{**same, "lora_alpha": 1.0}, pretrain_checkpoint_path=megatron))
    with pytest.raises(UserError, match="began with another base"):
        is_complete(config(**same))


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("model", ["idefics2", "llava_next"])
def test_adapters_agree_with_merged_weights_in_every_layout(policy: Path, tmp_path: Path, model: str) -> None:
    """Logits, loss and gradients, by the chain rule from those of Hugging Face's model with merged weights."""
    hf = policy if model == "idefics2" else llava.build_policy(tmp_path / "hf", is_next=True)
    megatron = converted("hf2mg", hf, tmp_path / "megatron")
    layouts = "tp1 packed tp2 tp2,sp tp2,pp2,packed pp2,vpp2 cp2 tp2,cp2,sp,packed,full tp2,pp2,sp,selective"
    run_ranks(4, ROOT / "tests" / "training" / "lora_worker.py", tmp_path / "out.json", hf, megatron, layouts)
    for layout, found in json.loads((tmp_path / "out.json").read_text()).items():
        assert found["adapters"] == 4 * 7
        assert found.get("logits", 0) < 1e-5 and found["loss"] < 1e-5 and found["gradient"] < 1e-5, layout
