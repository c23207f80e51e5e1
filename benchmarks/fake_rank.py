"""One rank of a training step without its GPU: the trainer's own code on fake tensors and a fake process group.

    python -m benchmarks.fake_rank '{"checkpoint": "training/memory/shapes/idefics2-8b", "rank": 0, "world_size": 8,
                                     "options": {"tp": 8}}'

prints what `RankMemory` holds as JSON. Fake tensors have shapes and no memory, so an 8B model is built and stepped in a
minute; the idea is torchtitan's (`estimation.py`). Every storage is counted while it lives. The devices are the
CPU's, through `training.modules.cpu_adaptor`; where a GPU has a fused kernel and the CPU has none (RMSNorm, SwiGLU,
attention within a window), a stand-in keeps what that kernel keeps. What depends on data is given: all patches of a
screenshot are real ones, and `training.memory.activations.num_labeled` tokens have a label. What an allocator loses
between its blocks is not seen.

A process runs one rank and ends: this module replaces functions of PyTorch for fake tensors.
"""

import collections
import dataclasses
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from training.modules import cpu_adaptor

cpu_adaptor.install()  # before Megatron is imported

import torch  # noqa: E402
from megatron.core import parallel_state  # noqa: E402
from megatron.core.fusions import fused_bias_swiglu  # noqa: E402
from megatron.core.pipeline_parallel.p2p_communication import P2PCommunicator  # noqa: E402
from torch._subclasses.fake_tensor import FakeTensorMode, unset_fake_temporarily  # noqa: E402
from torch.testing._internal.distributed.fake_pg import FakeStore  # noqa: E402
from torch.utils._pytree import tree_leaves  # noqa: E402

from benchmarks.live_bytes import LiveBytes  # noqa: E402
from models.registry import family, family_of  # noqa: E402
from training import layout  # noqa: E402
from training.algorithms.algorithm import BatchColumns  # noqa: E402
from training.algorithms.sft import Sft  # noqa: E402
from training.batches.collate import MicroBatch  # noqa: E402
from training.batches.pixel_queue import LazyImages  # noqa: E402
from training.config import Config  # noqa: E402
from training.loop.objective import Objective  # noqa: E402
from training.loop.optimization import Guard, build_optimizer, build_scheduler, guarded_step  # noqa: E402
from training.loop.parallel import Chunks, build_model, unwrap  # noqa: E402
from training.loop.step import forward_backward  # noqa: E402
from training.memory.activations import num_labeled  # noqa: E402
from training.modules.batching import Images, image_share  # noqa: E402
from training.modules.language import attention as language_attention  # noqa: E402


@dataclasses.dataclass(frozen=True)
class RankMemory:
    """Bytes on one rank.

    weights, gradients, optimizer: held all through training. activations: the most that a forward-backward adds.
    update: the most that the optimizer's step adds. sent_by_micro_batch, sent_by_step: bytes that leave this rank, by
    kind of collective, with ring algorithms; the second ones once an optimizer step, for gradients and weights.
    """

    rank: int
    stage: int
    num_images: int
    parameters: int
    weights: int
    gradients: int
    optimizer: int
    activations: int
    update: int
    sent_by_micro_batch: dict[str, int]
    sent_by_step: dict[str, int]


class _Unguarded(Guard):
    """Takes every step: whether fake numbers are finite nobody knows."""

    def reason_to_skip(self, grad_norm: float, loss_is_finite: bool = True) -> None:
        return None


def measure(config: Config, hf: Any, rank: int, world_size: int) -> RankMemory:
    """Build and step rank `rank` of `world_size`; `hf` is the model's configuration."""
    _fake_process_group(rank, world_size)
    _use_gpu_kernels()
    layout.initialize(config.layout, seed=0)
    meter = Meter(num_labeled(config))
    with FakeTensorMode(allow_non_fake_inputs=True), meter:
        chunks = build_model(family(config.pretrain_checkpoint_path), hf, config.layout, config.trainable)
        for chunk in chunks:
            chunk.config.bias_activation_fusion = True  # as on a GPU
        built = meter.live
        optimizer = build_optimizer(config, chunks)
        for group in optimizer.param_groups:
            group["fused"] = None  # as on a GPU, whose default `_use_gpu_kernels` sets
        scheduler = build_scheduler(config, optimizer, train_iters=100)
        states = meter.live - built
        gradients = sum(buffer.grad_data.nbytes for chunk in chunks for buffer in _buffers(chunk))
        batches = [_micro_batch(config, hf, chunks) for _ in range(2 * config.pp)]
        _exchange_shapes(config, hf)
        _mark_reduction(chunks, meter)
        meter.enter("micro-batches")
        forward_backward(chunks, batches, config.seq_len, Objective(Sft(), config.batch_size))
        before = meter.live
        scheduler.step(1)
        meter.enter("update")
        guarded_step(optimizer, _Unguarded(0.0), ())
        moments = meter.live - before
    parameters = [parameter for chunk in chunks for parameter in chunk.parameters()]
    pixels = batches[0].images.load().pixels
    return RankMemory(
        rank=rank,
        stage=parallel_state.get_pipeline_model_parallel_rank(),
        num_images=len(next(iter(pixels.values()))) if pixels else 0,
        parameters=sum(parameter.numel() for parameter in parameters),
        weights=built - gradients,
        gradients=gradients,
        optimizer=states + moments,
        activations=meter.peaks["micro-batches"],
        update=max(meter.peaks["reduction"], meter.peaks["update"] - moments),
        sent_by_micro_batch={kind: sent // len(batches) for kind, sent in meter.sent["micro-batches"].items()},
        sent_by_step=dict(meter.sent["reduction"] + meter.sent["update"]),
    )


class Meter(LiveBytes):
    """Bytes of the storages alive, and bytes sent; answers what a fake tensor cannot, its values."""

    def __init__(self, labeled: int) -> None:
        """`labeled`: how many positions a mask of tokens chooses."""
        super().__init__()
        self.labeled, self.phase, self.start = labeled, "build", 0
        self.peaks: dict[str, int] = collections.defaultdict(int)
        self.sent: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)

    def enter(self, phase: str) -> None:
        """What follows is counted for `phase`."""
        self.phase = phase
        self.start = self.live

    def add(self, nbytes: int, dtype: torch.dtype) -> None:
        """And to the phase's own peak."""
        super().add(nbytes, dtype)
        self.peaks[self.phase] = max(self.peaks[self.phase], self.live - self.start)

    def answer(self, func: Any, args: Any, kwargs: Any) -> Any:
        """What follows from a value is made up."""
        if func.namespace == "c10d":
            return self._communicate(func, args)
        if func is torch.ops.aten._local_scalar_dense.default:
            return True if args[0].dtype == torch.bool else 1.0 if args[0].is_floating_point() else 1
        if func is torch.ops.aten.nonzero.default:
            return torch.empty(self.labeled, args[0].dim(), dtype=torch.long)
        if func is torch.ops.aten.index.Tensor:
            return func(args[0], [index for given in args[1] for index in self._indices(given)])
        return func(*args, **kwargs)

    def _indices(self, given: torch.Tensor | None) -> list[torch.Tensor | None]:
        if given is None or given.dtype != torch.bool:
            return [given]
        return [torch.empty(self.labeled, dtype=torch.long) for _ in range(given.dim())]

    def _communicate(self, func: Any, args: Any) -> Any:
        """Nothing is sent; the work returned is one that is done."""
        group = next(arg for arg in args if isinstance(arg, torch.ScriptObject))
        size = torch.distributed.ProcessGroup.unbox(group).size()
        whole = max(sum(tensor.nbytes for tensor in _tensors(arg)) for arg in args[:2])
        for kind, (names, share) in _SENT.items():
            if func._opname in names and size > 1:
                self.sent[self.phase][kind] += int(whole * share(size))
        with unset_fake_temporarily():
            work = torch.ops.c10d.send([torch.empty(1)], group, 0, 0)
        return work if len(func._schema.returns) == 1 else (args[0], work)


_SENT: dict[str, tuple[set[str], Callable[[int], float]]] = {
    "all-reduce": ({"allreduce_", "allreduce_coalesced_"}, lambda size: 2 * (size - 1) / size),
    "all-gather": ({"_allgather_base_", "allgather_", "allgather_into_tensor_coalesced_"}, lambda n: (n - 1) / n),
    "reduce-scatter": ({"_reduce_scatter_base_", "reduce_scatter_tensor_coalesced_"}, lambda n: (n - 1) / n),
    "p2p": ({"send"}, lambda size: 1.0),
}
"""By kind: the operations, and how much of the whole tensor a rank of a group sends in a ring."""


def _use_gpu_kernels() -> None:
    """What a GPU computes in one kernel, and the CPU in several that keep more."""
    functional = torch.nn.functional
    attend = functional.scaled_dot_product_attention

    def rms_norm(values: torch.Tensor, shape: Any, weight: torch.Tensor, eps: float | None = None) -> torch.Tensor:
        return _FusedRmsNorm.apply(values, weight)

    def attention(*args: Any, attn_mask: Any = None, **kwargs: Any) -> torch.Tensor:
        return attend(*args, **kwargs)  # windows and padding are known to the kernels without a mask of their own

    sys.modules["torch.optim.adam"]._default_to_fused_or_foreach = lambda *_, **__: (False, True)  # type: ignore
    fused_bias_swiglu.swiglu = lambda both: torch.empty_like(both.chunk(2, -1)[0])
    fused_bias_swiglu.swiglu_back = lambda gradient, both: torch.empty_like(both)
    language_attention.BLOCK = sys.maxsize  # one call a sample, as the variable-length kernel
    language_attention._Band.corner = lambda *_: torch.empty(0)
    functional.rms_norm, functional.scaled_dot_product_attention = rms_norm, attention


class _FusedRmsNorm(torch.autograd.Function):
    """Keeps its input and one number a row; its backward pass needs nothing between."""

    @staticmethod
    def forward(context: Any, values: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        context.save_for_backward(values, weight, values.new_empty(values.shape[:-1], dtype=torch.float32))
        return torch.empty_like(values)

    @staticmethod
    def backward(context: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        values, weight, _ = context.saved_tensors
        return torch.empty_like(values), torch.empty_like(weight)


def _tensors(value: Any) -> list[torch.Tensor]:
    return [leaf for leaf in tree_leaves(value) if isinstance(leaf, torch.Tensor)]


def _buffers(chunk: Any) -> list[Any]:
    return [*chunk.buffers, *chunk.expert_parallel_buffers]


def _micro_batch(config: Config, hf: Any, chunks: Chunks) -> MicroBatch:
    """Rows of `seq_len` tokens with `image_num` screenshots each, of which this rank encodes its share."""
    rows, length = config.batch_size, config.seq_len
    units = rows * config.image_num * family_of(hf).vision_side(hf).units_per_image
    rank = parallel_state.get_tensor_and_context_parallel_rank()
    share = len(image_share(units, rank, parallel_state.get_tensor_and_context_parallel_world_size()))
    pixels = None
    if share and parallel_state.is_pipeline_first_stage():
        pixels = _screenshots(unwrap(chunks)[0].blank_pixels("cpu"), hf, share)
    images = Images(pixels, units, torch.tensor([[768, 1024]] * units))
    tokens = torch.zeros(rows, length, dtype=torch.long)
    return MicroBatch(
        tokens=tokens,
        labels=torch.zeros_like(tokens),
        keys=[""] * rows,
        columns=BatchColumns(torch.full([rows], num_labeled(config) // rows), {"weight": torch.ones(rows)}, {}),
        segment_lengths=None,
        images=LazyImages(images, lambda: images),
        lengths=(length,) * rows,
        reads=(length,) * rows,
    )


def _screenshots(blank: dict[str, torch.Tensor], hf: Any, count: int) -> dict[str, torch.Tensor]:
    """A model's smallest unit, as many times and as large as `count` screenshots are."""
    rows, columns = family_of(hf).vision_side(hf).patch_grid
    size = (rows * hf.vision_config.patch_size, columns * hf.vision_config.patch_size)
    sizes = {"pixel_values": (3, *size), "patch_mask": (rows, columns)}
    return {name: torch.zeros(count, *sizes[name], dtype=tensor.dtype) for name, tensor in blank.items()}


def _fake_process_group(rank: int, world_size: int) -> None:
    """Every group's backend is the fake one, which sends nothing; what is asked of other ranks is this rank's own."""
    new_group = torch.distributed.new_group
    torch.distributed.new_group = lambda *args, **kwargs: new_group(*args, **{**kwargs, "backend": "fake"})
    torch.distributed.init_process_group("fake", rank=rank, world_size=world_size, store=FakeStore())

    def all_gather_object(gathered: list[Any], own: Any, group: Any = None) -> None:
        gathered[:] = [own] * len(gathered)

    torch.distributed.all_gather_object = all_gather_object
    torch.nn.Module._apply = _apply
    make = torch.tensor
    torch.tensor = lambda data, *args, **kwargs: (
        torch.stack(_tensors(data)) if _tensors(data) else make(data, *args, **kwargs)
    )


def _apply(module: torch.nn.Module, function: Callable[[torch.Tensor], torch.Tensor], recurse: bool = True) -> Any:
    """`torch.nn.Module._apply` for fake tensors, whose parameters cannot be swapped for others."""
    for child in module.children():
        child._apply(function)
    for name, parameter in module._parameters.items():
        if parameter is not None and (changed := function(parameter.detach())).dtype != parameter.dtype:
            module._parameters[name] = torch.nn.Parameter(changed, parameter.requires_grad)
            vars(module._parameters[name]).update(vars(parameter))
    for name, buffer in module._buffers.items():
        module._buffers[name] = None if buffer is None else function(buffer)
    return module


def _exchange_shapes(config: Config, hf: Any) -> None:
    """Pipeline stages tell each other the shapes of what they send: here all are the same."""
    parts = config.cp * (config.tp if config.sp else 1)
    shape = [config.seq_len // parts, config.batch_size, hf.text_config.hidden_size]
    P2PCommunicator._communicate_shapes = lambda *_: (shape, shape)


def _mark_reduction(chunks: Chunks, meter: Meter) -> None:
    """The end of a forward-backward reduces gradients over ranks."""
    for config in {id(chunk.config): chunk.config for chunk in chunks}.values():
        finish = config.finalize_model_grads_func

        def finalize(*args: Any, finish: Any = finish, **kwargs: Any) -> None:
            meter.enter("reduction")
            finish(*args, **kwargs)

        config.finalize_model_grads_func = finalize


def main(request: dict[str, Any]) -> None:
    """`options`: of `training.config.Config`; `text`, `vision`: changes of the model's configuration."""
    shape = Path(request["checkpoint"])
    hf = family(shape).read_config(shape)
    for part, changes in (("text_config", request.get("text", {})), ("vision_config", request.get("vision", {}))):
        for name, value in changes.items():
            setattr(getattr(hf, part), name, value)
    config = Config(Path(), shape, **request["options"])
    print(json.dumps(dataclasses.asdict(measure(config, hf, request["rank"], request["world_size"]))))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
