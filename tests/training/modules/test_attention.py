"""Attention without TransformerEngine is the plain formula's, with memory that grows with the length of a row."""

import math
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from megatron.core.transformer.transformer_config import TransformerConfig
from torch.nn.attention import SDPBackend

from training.modules.language import attention
from training.modules.language.attention import CausalAttention
from training.modules.language.context_parallel import blocks, local_positions
from training.modules.language.packed import PackedSamples

HEADS, KV_HEADS, DIM = 4, 2, 8
LENGTHS = [(75,), (40, 8, 100, 12), (7,)]


class Group:
    """A process group's size and place in it."""

    def __init__(self, rank: int = 0, size: int = 1) -> None:
        self.rank, self.size = lambda: rank, lambda: size


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(attention, "BLOCK", 16)
    attention._band.cache_clear()
    yield
    attention._band.cache_clear()


@pytest.fixture
def make(monkeypatch: pytest.MonkeyPatch) -> Callable[..., CausalAttention]:
    def build(window: int | None, varlen: bool = False, rank: int = 0, size: int = 1) -> CausalAttention:
        group = Group(rank, size)
        monkeypatch.setattr(attention.parallel_state, "get_context_parallel_group", lambda: group)
        config = TransformerConfig(
            num_layers=1, hidden_size=32, num_attention_heads=HEADS, window_size=(window - 1, 0) if window else None
        )
        return CausalAttention(config, varlen=varlen)

    return build


def inputs(length: int, batch: int = 1) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    return [
        torch.randn(length, batch, heads, DIM, generator=generator, requires_grad=True)
        for heads in (HEADS, KV_HEADS, KV_HEADS)
    ]


def plain(query: Any, key: Any, value: Any, lengths: tuple[int, ...], window: int | None) -> torch.Tensor:
    """The formula, with a [s, s] mask: [s, b, heads * d]."""
    key, value = (tensor.repeat_interleave(HEADS // KV_HEADS, dim=2) for tensor in (key, value))
    sample = torch.repeat_interleave(torch.arange(len(lengths)), torch.tensor(lengths))
    distance = torch.arange(len(sample))[:, None] - torch.arange(len(sample))[None, :]
    seen = (sample[:, None] == sample[None, :]) & (distance >= 0) & (distance < (window or len(sample)))
    scores = torch.einsum("qbhd,kbhd->bhqk", query, key) / math.sqrt(DIM)
    weights = scores.masked_fill(~seen, -torch.inf).softmax(-1)
    return torch.einsum("bhqk,kbhd->qbhd", weights, value).flatten(2)


def assert_same(actual: torch.Tensor, expected: torch.Tensor, tensors: list[torch.Tensor]) -> None:
    """Values and gradients; rounding of sums aside."""
    weights = torch.randn(expected.shape, generator=torch.Generator().manual_seed(1))
    got = torch.autograd.grad((actual * weights).sum(), tensors)
    wanted = torch.autograd.grad((expected * weights).sum(), tensors)
    assert torch.allclose(actual, expected, atol=1e-6)
    for one, other in zip(got, wanted, strict=True):
        assert torch.allclose(one, other, atol=2e-6)


def flash_for_lengths(query: Any, key: Any, value: Any, q_ends: Any, k_ends: Any, *longest: int, **options: Any) -> Any:
    """What `varlen_attn` says it computes: the window counts from a sequence's last query at its last key."""
    assert options.get("enable_gqa", False) == (query.size(1) != key.size(1))
    assert longest == tuple(int(ends.diff().max()) for ends in (q_ends, k_ends))
    left, right = options["window_size"]
    assert right == 0
    key, value = (tensor.repeat_interleave(query.size(1) // key.size(1), dim=1) for tensor in (key, value))
    outputs = []
    for number in range(len(q_ends) - 1):
        part = slice(int(q_ends[number]), int(q_ends[number + 1]))
        keys = slice(int(k_ends[number]), int(k_ends[number + 1]))
        q, k, v = query[part], key[keys], value[keys]
        distance = torch.arange(len(q))[:, None] + len(k) - len(q) - torch.arange(len(k))[None, :]
        seen = (distance >= 0) & ((distance <= left) | (left < 0))
        scores = torch.einsum("qhd,khd->hqk", q, k) / math.sqrt(DIM)
        outputs.append(torch.einsum("hqk,khd->qhd", scores.masked_fill(~seen, -torch.inf).softmax(-1), v))
    return torch.cat(outputs)


@pytest.mark.parametrize("kernel", ["blocks", "varlen"])
@pytest.mark.parametrize("window", [None, 5, 24, 64, 1000])
@pytest.mark.parametrize("lengths", LENGTHS)
def test_packed_samples(make: Any, monkeypatch: Any, lengths: tuple, window: int | None, kernel: str) -> None:
    monkeypatch.setattr(attention, "varlen_attn", flash_for_lengths)
    tensors = inputs(sum(lengths))
    packed = PackedSamples.of(lengths, torch.device("cpu"))
    actual = make(window, kernel == "varlen")(*(t.squeeze(1) for t in tensors), None, packed_seq_params=packed)
    assert_same(actual.unsqueeze(1), plain(*tensors, lengths, window), tensors)


@pytest.mark.parametrize("kernel", ["blocks", "varlen"])
@pytest.mark.parametrize("window", [None, 5, 24])
def test_rows_of_a_micro_batch(make: Any, monkeypatch: Any, window: int | None, kernel: str) -> None:
    monkeypatch.setattr(attention, "varlen_attn", flash_for_lengths)
    tensors = inputs(70, batch=3)
    actual = make(window, kernel == "varlen")(*tensors, None)
    assert_same(actual, plain(*tensors, (70,), window), tensors)


@pytest.mark.parametrize("kernel", ["blocks", "varlen"])
@pytest.mark.parametrize("window", [None, 5, 24])
@pytest.mark.parametrize("count", [1, 9, 40, 69])
def test_from_the_last_positions(make: Any, monkeypatch: Any, count: int, window: int | None, kernel: str) -> None:
    monkeypatch.setattr(attention, "varlen_attn", flash_for_lengths)
    tensors = inputs(70, batch=3)
    actual = make(window, kernel == "varlen")(tensors[0][-count:], *tensors[1:], None)
    assert_same(actual, plain(*tensors, (70,), window)[-count:], tensors)


@pytest.mark.parametrize("kernel", ["blocks", "varlen"])
@pytest.mark.parametrize("window", [None, 5, 24])
@pytest.mark.parametrize(("lengths", "batch"), [((40, 8, 100, 12), 1), ((84,), 2)])
def test_context_parallel_parts(
    make: Any, monkeypatch: Any, lengths: tuple, batch: int, window: int | None, kernel: str
) -> None:
    monkeypatch.setattr(attention, "varlen_attn", flash_for_lengths)
    tensors = inputs(sum(lengths), batch)
    for rank in range(2):
        module = make(window, kernel == "varlen", rank, 2)
        positions = local_positions(lengths, rank, 2, torch.device("cpu"))
        attend = module._in_one_call if kernel == "varlen" else module._block_by_block
        actual = attend(tensors[0][positions], *tensors[1:], list(blocks(lengths, rank, 2)))
        assert_same(actual.flatten(2), plain(*tensors, lengths, window)[positions], tensors)


def test_on_a_gpu_the_plain_formula_is_never_taken(make: Any, monkeypatch: Any) -> None:
    """With CUDA pretended: masks and grouped heads reach kernels that have none of PyTorch's own formula to fall to."""
    allowed = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(attention, "sdpa_kernel", lambda backends: allowed.append(backends) or torch.no_grad())
    shapes = []
    real = torch.nn.functional.scaled_dot_product_attention

    def attend(query: Any, key: Any, value: Any, **options: Any) -> torch.Tensor:
        shapes.append((query.size(1), key.size(1), options["enable_gqa"]))
        return real(query, key, value, **options)

    monkeypatch.setattr(attention.functional, "scaled_dot_product_attention", attend)
    tensors = inputs(70)
    actual = make(24)(*tensors, None)
    assert torch.allclose(actual, plain(*tensors, (70,), 24), atol=1e-6)
    assert allowed and SDPBackend.MATH not in allowed[0]
    assert set(shapes) == {(HEADS, HEADS, False)}, "the memory-efficient kernel takes no groups"


@pytest.mark.parametrize("size", [1, 2])
@pytest.mark.parametrize("window", [None, 24])
def test_what_is_kept_grows_with_the_length_and_not_with_its_square(make: Any, window: int | None, size: int) -> None:
    """Bytes that autograd keeps for the backward pass, of a row and of one four times as long."""

    def kept(length: int) -> int:
        storages: dict[int, int] = {}

        def note(tensor: torch.Tensor) -> torch.Tensor:
            storage = tensor.untyped_storage()
            storages[storage.data_ptr()] = storage.nbytes()
            return tensor

        query, key, value = inputs(length)
        with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
            held = list(blocks((length,), 0, size))
            query = query[: sum(block.length for block in held)]
            output = make(window, size=size)._block_by_block(query, key, value, held)
            bytes_kept = sum(storages.values())
            output.sum().backward()
        return bytes_kept

    assert kept(1024) < 5 * kept(256)


def test_a_kernel_that_knows_no_groups(make: Callable[..., CausalAttention], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attention, "varlen_attn", flash_for_lengths)
    monkeypatch.setattr(attention, "_KNOWS_GROUPS", False)  # as of torch 2.11
    tensors = inputs(75)
    assert_same(make(20, varlen=True)(*tensors, None), plain(*tensors, (75,), 20), tensors)


@pytest.mark.parametrize("window", [None, 20])
def test_the_installed_kernel_takes_what_it_is_given(make: Callable[..., CausalAttention], window: int | None) -> None:
    """Its meta function, forward and backward: shapes and options, without a GPU."""
    tensors = [tensor.detach().to("meta", torch.bfloat16).requires_grad_() for tensor in inputs(75, batch=2)]
    output = make(window, varlen=True)(*tensors, None)
    assert output.shape == (75, 2, HEADS * DIM)
    assert [one.shape for one in torch.autograd.grad(output.sum(), tensors)] == [one.shape for one in tensors]
