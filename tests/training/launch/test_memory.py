"""--dry_run's table is the arithmetic of Megatron's memory, on idefics2-8b and 8 GPUs."""

from pathlib import Path

import pytest

from common.errors import UserError
from models.registry import family
from training.config import Config
from training.memory.per_gpu import checkpoint_copies, count_parameters, plan, print_plan

SHAPE = Path(__file__).resolve().parents[3] / "training" / "memory" / "shapes" / "idefics2-8b"
# A layer: q and o 4096 x 4096, k and v 1024 x 4096, gate, up and down 14336 x 4096; two norms of 4096.
LAYER = 2 * 4096 * 4096 + 2 * 1024 * 4096 + 3 * 14336 * 4096
NORMS = 2 * 4096
EMBEDDING = 32768 * 4096  # 32003 rows, padded to 8 x 128


@pytest.fixture(scope="module")
def hf() -> object:
    return family(SHAPE).read_config(SHAPE)


def config(**options: object) -> Config:
    return Config(Path("none"), SHAPE, **options)


def vision_of(hf: object) -> int:
    [alone] = count_parameters(hf, config(tp=1).layout)
    return alone.vision + alone.connector


def test_one_gpu_holds_the_whole_model(hf: object) -> None:
    [alone] = count_parameters(hf, config(tp=1).layout)
    assert alone.language == 32 * (LAYER + NORMS) + 2 * 32128 * 4096 + 4096  # at TP=1 padded to 128
    assert alone.vision > 400e6 and alone.connector > 300e6
    assert 8.3e9 < alone.total < 8.5e9


def test_tp8(hf: object) -> None:
    """Vision whole on every GPU, language cut by 8 but for its norms; 2 + 4 + 12 bytes each."""
    [stage] = plan(config(tp=8), hf, 8)
    parameters = vision_of(hf) + 32 * (LAYER // 8 + NORMS) + 2 * EMBEDDING // 8 + 4096
    assert stage.parameters == stage.trainable == parameters
    assert (stage.weights, stage.gradients, stage.optimizer) == (2 * parameters, 4 * parameters, 12 * parameters)


def test_tp4_pp2(hf: object) -> None:
    """The first stage has the vision and the embedding, the last the final norm and the output layer."""
    first, last = plan(config(tp=4, pp=2), hf, 8)
    layers, embedding = 16 * (LAYER // 4 + NORMS), 32256 * 4096 // 4  # padded to 4 x 128
    assert first.parameters == vision_of(hf) + layers + embedding
    assert last.parameters == layers + embedding + 4096
    assert [stage.optimizer for stage in (first, last)] == [12 * stage.parameters for stage in (first, last)]


def test_tp2_dp4_with_the_distributed_optimizer(hf: object) -> None:
    """Adam's state is cut over the 4 replicas: 2 + 4 + 12 / 4 bytes each."""
    [stage] = plan(config(tp=2, do=True), hf, 8)
    assert stage.optimizer == 3 * stage.parameters
    assert stage.weights == 2 * stage.parameters and stage.gradients == 4 * stage.parameters


def test_frozen_parts_have_weights_only(hf: object) -> None:
    [stage] = plan(config(tp=8, freeze_language=True, freeze_connector=True, pr="fp32"), hf, 8)
    [count] = count_parameters(hf, config(tp=8).layout)
    assert stage.trainable == count.vision and stage.weights == 4 * count.total
    assert stage.optimizer == 8 * count.vision


def test_adapters_add_to_the_weights_and_alone_have_gradients(hf: object) -> None:
    """A of q, k, v, gate and up is whole on every rank, that of o and down cut; B the other way round."""
    [stage] = plan(config(tp=8, lora_rank=16), hf, 8)
    [count] = count_parameters(hf, config(tp=8).layout)
    a = 5 * 4096 + (4096 + 14336) // 8
    b = (4096 + 2 * 1024 + 2 * 14336) // 8 + 2 * 4096
    assert stage.trainable == 32 * 16 * (a + b)
    assert stage.weights == 2 * (count.total + stage.trainable) and stage.optimizer == 12 * stage.trainable


@pytest.mark.parametrize(
    ("options", "hosts"),
    [
        ({"tp": 8}, 1),
        ({"tp": 2, "do": True}, 1),
        ({"tp": 4, "pp": 2}, 1),
        ({"tp": 2, "do": True, "host_num": 2}, 2),
    ],
)
def test_hosts_hold_one_copy_of_the_model_and_its_state(hf: object, options: dict, hosts: int) -> None:
    """2 bytes of a weight and 12 of its state, however it is cut; padding of the vocabulary aside."""
    copies = checkpoint_copies(config(**options), hf, 8)
    [alone] = count_parameters(hf, config(tp=1).layout)
    assert len(copies) == hosts
    assert sum(copies) == pytest.approx(14 * alone.total, rel=0.01)


def test_a_host_that_is_too_small_is_said_to_be(capsys: pytest.CaptureFixture[str]) -> None:
    for size, verdict in ((64, "does not fit in 64 GiB"), (256, "fits in 256 GiB")):
        print_plan(Config(Path("none"), Path("idefics2-8b"), num_gpus=8, host_memory_gib=size))
        last = capsys.readouterr().out.splitlines()[-1]
        assert verdict in last and "4.8 GiB for the loader" in last


@pytest.mark.parametrize(("name", "billions"), [("llava-1.5-7b", 7.06), ("llava-v1.6-mistral-7b", 7.57)])
def test_llavas_shapes_have_as_many_parameters_as_their_releases(name: str, billions: float) -> None:
    [alone] = count_parameters(family(SHAPE.with_name(name)).read_config(SHAPE.with_name(name)), config(tp=1).layout)
    assert alone.total / 1e9 == pytest.approx(billions, abs=0.01)


def test_the_table_is_printed_without_gpu_data_or_weights(capsys: pytest.CaptureFixture[str]) -> None:
    print_plan(Config(Path("none"), Path("idefics2-8b"), num_gpus=8))
    printed = capsys.readouterr().out
    assert "8 GPUs: TP=8 x PP=1 x CP=1 x DP=1" in printed and "optimizer (GiB)" in printed and "fits" in printed


@pytest.mark.parametrize(
    ("options", "message"),
    [({"tp": 3}, "TP=3 does not divide"), ({"num_gpus": 12}, "12 GPUs cannot be cut into replicas of 8")],
)
def test_a_wrong_layout_is_refused(options: dict[str, int], message: str) -> None:
    with pytest.raises(UserError, match=message):
        print_plan(Config(Path("none"), Path("idefics2-8b"), **options))


def test_an_unknown_shape_is_refused_with_those_known() -> None:
    with pytest.raises(UserError, match=r"one of .*idefics2-8b"):
        print_plan(Config(Path("none"), Path("nowhere")))
