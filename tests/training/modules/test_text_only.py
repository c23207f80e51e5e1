"""What trains and scores a language model alone as it does a policy that looks: adapters, a critic, score.sh."""

from pathlib import Path
from typing import Any

import pytest
import torch
from pyarrow import parquet
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM

from common.files import write_json
from data.checkpoint_folder import find_weights
from models import registry
from models.processor import load_processor
from models.tokens.encoding import ConversationEncoder
from tests import tiny
from tests.tiny import text_only
from tests.training.algorithms import test_grpo_run
from tests.training.conftest import converted, train
from tests.training.critics import test_critic
from tests.training.critics.test_score import score
from toolkits.model_checkpoints_convertor.torch_dist_weights import TorchDistReader
from training.batches.tokenize_sample import tokenize
from training.critics.make_columns import MakeColumnsConfig
from training.critics.make_columns import main as make_columns
from training.samples.stored_sample import read_in_order

KINDS = {"llama": {}, "glm": {"head_dim": 32}}
LAYOUTS = ({"tp": 2}, {"pp": 2}, {"cp": 2}, {"tp": 2, "packing": "false", "batch_size": 2})


@pytest.fixture(scope="module", params=KINDS)
def policy(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return text_only.build_policy(tmp_path_factory.mktemp("text") / "hf", request.param, **KINDS[request.param])


@pytest.fixture(scope="module")
def megatron(policy: Path) -> Path:
    return converted("hf2mg", policy, policy.with_name("megatron"))


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    samples = [tiny.sample(index, num_steps=1 + index % 3, with_images=False) for index in range(8)]
    return tiny.build_dataset(tmp_path_factory.mktemp("data") / "shards", samples)


@torch.no_grad()
def reference(policy: Path, shards: Path) -> dict[str, list[float]]:
    """Each sample's reply tokens under Hugging Face's model."""
    processor, kind = load_processor(policy), registry.family(policy)
    model = AutoModelForCausalLM.from_pretrained(policy).eval()
    encoder = ConversationEncoder(processor, kind.image_encoder(processor, model.config), 1024, 3, "answer")
    expected = {}
    for stored in read_in_order(shards):
        sample = tokenize(encoder, stored.id, stored.fields, stored.find_images())
        logprobs = model(sample.ids[None]).logits[0, :-1].log_softmax(-1).gather(1, sample.ids[1:, None])[:, 0]
        expected[sample.key] = logprobs[sample.loss_mask[1:]].tolist()
    return expected


def check_scores(rows: list[dict[str, Any]], expected: dict[str, list[float]], tolerance: float) -> None:
    assert [row["id"] for row in rows] == list(expected)
    for row in rows:
        assert row["token_logprobs"] == pytest.approx(expected[row["id"]], abs=tolerance)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("layout", [{}, *LAYOUTS], ids=str)
def test_scores_are_those_of_hugging_face(
    policy: Path, megatron: Path, shards: Path, tmp_path: Path, layout: dict[str, object]
) -> None:
    rows = score(megatron, shards, tmp_path / "scores.parquet", token_logprobs="true", **layout)
    check_scores(rows, reference(policy, shards), 1e-4)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_bf16_scores_are_near_those_of_fp32(policy: Path, megatron: Path, shards: Path, tmp_path: Path) -> None:
    rows = score(megatron, shards, tmp_path / "scores.parquet", token_logprobs="true", pr="bf16")
    check_scores(rows, reference(policy, shards), 0.05)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_adapters_are_trained_scored_and_merged(policy: Path, megatron: Path, shards: Path, tmp_path: Path) -> None:
    options = {"lora_rank": 4, "lora_alpha": 8.0, "lr": 1e-2, "lr_warmup_iters": 0, "train_iters": 4}
    losses = train("", shards, megatron, tmp_path, **options, global_batch_size=8)
    assert losses[-1] < losses[0] - 0.1
    trained = tmp_path / "checkpoint" / "run"
    merged = converted("mg2hf", trained, tmp_path / "merged")
    rows = score(trained, shards, tmp_path / "scores.parquet", token_logprobs="true", tp=2)
    check_scores(rows, reference(merged, shards), 1e-4)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_peft_adapter_is_scored_beside_its_base_as_merged(policy: Path, shards: Path, tmp_path: Path) -> None:
    """A gate and its up projection in one tensor have one adapter there, and two here."""
    peft = write_peft(tmp_path / "peft", AutoModelForCausalLM.from_pretrained(policy))
    told = {"adapter_path": peft}
    beside = converted("hf2mg", policy, tmp_path / "beside", lora="apart", **told)
    merged = converted("mg2hf", converted("hf2mg", policy, tmp_path / "merged", **told), tmp_path / "hf")
    rows = score(beside, shards, tmp_path / "scores.parquet", token_logprobs="true", tp=2)
    expected = reference(merged, shards)
    check_scores(rows, expected, 1e-4)
    again = converted("hf2mg", beside, tmp_path / "again", lora="apart")
    one, other = (TorchDistReader(find_weights(folder)[0]) for folder in (beside, again))
    adapters = [key for key in one.keys() if ".lora_" in key]  # noqa: SIM118 (not a dict)
    assert adapters and all(one.read(key).equal(other.read(key)) for key in adapters)
    plain = reference(policy, shards)
    assert max(abs(one - other) for name in plain for one, other in zip(plain[name], expected[name], strict=True)) > 0.1


def write_peft(folder: Path, model: torch.nn.Module, rank: int = 4) -> Path:
    """Random adapters on every projection."""
    tensors, generator = {}, torch.Generator().manual_seed(0)
    for name, module in model.named_modules():
        if name.endswith("_proj"):
            for side, shape in (("A", (rank, module.in_features)), ("B", (module.out_features, rank))):
                tensors[f"base_model.model.{name}.lora_{side}.weight"] = torch.randn(shape, generator=generator) * 0.1
    folder.mkdir()
    save_file(tensors, folder / "adapter_model.safetensors")
    write_json(folder / "adapter_config.json", {"peft_type": "LORA", "r": rank, "lora_alpha": 8})
    return folder


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_critic_says_the_same_in_every_layout(megatron: Path, tmp_path: Path) -> None:
    tries = tiny.tries(test_grpo_run.LENGTHS, test_grpo_run.SOLVED, num_words=20, with_images=False)
    shards, columns = tiny.build_dataset(tmp_path / "shards", tries), tmp_path / "critic.parquet"
    make_columns(MakeColumnsConfig(shards, columns, "critic"))
    losses = train("", shards, megatron, tmp_path, column_files=columns, train_iters=8, **test_critic.OPTIONS)
    assert losses[-1] < losses[0]
    critic, values = tmp_path / "checkpoint" / "run", []
    for number, layout in enumerate([{}, *LAYOUTS]):
        output = tmp_path / f"values{number}.parquet"
        test_critic.finish(test_critic.score(critic, shards, output, write="values", **layout))
        values.append([(row["value_1"], row["value_2"]) for row in parquet.read_table(output).to_pylist()])
    for others in values[1:]:
        assert others == [pytest.approx(pair, abs=1e-5) for pair in values[0]]
