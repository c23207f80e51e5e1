"""Low-rank adapters on a language model's projections (Hu et al., 2021): a pair (A, B) for each of q, k, v, o, gate,
up and down, as PEFT has them. Megatron's joined projections (q, k, v and gate, up) hold their adapters joined as well.

Tensor parallelism cuts an adapter as it cuts its projection: B's rows where the output is cut, A's columns where the
input is. `lora_b` has its projection's own order of rows, so checkpoints and merging use the weight table's rules.
"""

import math
import zlib
from typing import Any

import torch
from megatron.core import parallel_state, tensor_parallel
from megatron.core.tensor_parallel.layers import ColumnParallelLinear, RowParallelLinear
from megatron.core.transformer.mlp import apply_swiglu_sharded_factory
from megatron.core.transformer.spec_utils import ModuleSpec
from megatron.core.transformer.transformer_layer import TransformerLayerSubmodules
from megatron.core.transformer.utils import make_sharded_tensors_for_checkpoint
from torch.nn import functional

from data.adapter_record import Lora
from training.modules.marks import mark


def add_adapters(layer: TransformerLayerSubmodules, lora: Lora) -> None:
    """Give the four projections of a layer's specification their adapters."""
    attention, mlp = layer.self_attention.submodules, layer.mlp.submodules
    attention.linear_qkv = ModuleSpec(LoraQkv, params={"lora": lora})
    attention.linear_proj = ModuleSpec(LoraRow, params={"lora": lora})
    mlp.linear_fc1 = ModuleSpec(LoraGated, params={"lora": lora})
    mlp.linear_fc2 = ModuleSpec(LoraRow, params={"lora": lora})


def initialize(layers: torch.nn.ModuleList, seed: int) -> None:
    """A as PEFT draws it, B zero: the model starts unchanged. Every layout draws the same values."""
    for layer in layers:
        for name, module in layer.named_modules():
            if isinstance(module, (LoraColumn, LoraRow)):
                key = f"{seed}.{layer.layer_number}.{name}"
                module.reset_adapter(torch.Generator().manual_seed(zlib.crc32(key.encode())))


def draw(rows: int, columns: int, generator: torch.Generator) -> torch.Tensor:
    """[rows, columns], as of `kaiming_uniform_(a=sqrt(5))`."""
    return (torch.rand(rows, columns, generator=generator) * 2 - 1) / math.sqrt(columns)


class LoraColumn(ColumnParallelLinear):
    """Several projections of one input, cut by output."""

    num_parts: int

    def __init__(self, input_size: int, output_size: int, *, lora: Lora, **options: Any) -> None:
        super().__init__(input_size, output_size, **options)
        self.scale, rank = lora.scale, lora.rank
        self.lora_a = torch.nn.Parameter(self.weight.new_empty(self.num_parts * rank, input_size))
        self.lora_b = torch.nn.Parameter(self.weight.new_empty(self.output_size_per_partition, rank))
        mark(self.lora_a, sequence_parallel=self.sequence_parallel)

    def reset_adapter(self, generator: torch.Generator) -> None:
        self.lora_a.data.copy_(draw(self.lora_a.size(0), self.lora_a.size(1), generator))
        self.lora_b.data.zero_()

    def forward(self, input_: torch.Tensor, *args: Any, **kwargs: Any) -> tuple[torch.Tensor, torch.Tensor | None]:
        output, bias = super().forward(input_, *args, **kwargs)
        low = functional.linear(input_, self.lora_a)
        if self.sequence_parallel:
            low = tensor_parallel.gather_from_sequence_parallel_region(low)
        else:
            low = tensor_parallel.copy_to_tensor_model_parallel_region(low)
        return output.add_(functional.linear(self.scale * low, self._joined_b())), bias

    def _joined_b(self) -> torch.Tensor:
        """[output_size_per_partition, num_parts * rank]: B of every projection in the projections' joined order, zero
        in the columns of the others, so that one product adds them all and nothing as wide as the output is copied.
        """
        raise NotImplementedError

    def sharded_state_dict(
        self, prefix: str = "", sharded_offsets: tuple[Any, ...] = (), metadata: Any = None
    ) -> dict[str, Any]:
        state, cut = self.state_dict(prefix="", keep_vars=True), {"weight": 0, "bias": 0, "lora_b": 0}
        return make_sharded_tensors_for_checkpoint(
            state, prefix, cut, sharded_offsets, tp_group=self.tp_group, dp_cp_group=metadata["dp_cp_group"]
        )


class LoraQkv(LoraColumn):
    """q, k and v, joined group by group."""

    num_parts = 3

    def _joined_b(self) -> torch.Tensor:
        config, rank = self.config, self.lora_b.size(-1)
        groups = config.num_query_groups // config.tensor_model_parallel_size
        heads = config.num_attention_heads // config.num_query_groups
        rows = self.lora_b.view(groups, heads + 2, config.kv_channels, rank).split([heads, 1, 1], dim=1)
        apart = [functional.pad(row, (part * rank, (2 - part) * rank)) for part, row in enumerate(rows)]
        return torch.cat(apart, dim=1).flatten(0, 2)


class LoraGated(LoraColumn):
    """Gate and up, one below the other."""

    num_parts = 2

    def _joined_b(self) -> torch.Tensor:
        return torch.block_diag(*self.lora_b.chunk(2))

    def sharded_state_dict(
        self, prefix: str = "", sharded_offsets: tuple[Any, ...] = (), metadata: Any = None
    ) -> dict[str, Any]:
        """As Megatron does for the weight, which each rank holds half and half."""
        state = super().sharded_state_dict(prefix, sharded_offsets, metadata)
        key = f"{prefix}lora_b"
        return {**state, key: apply_swiglu_sharded_factory(state[key], sharded_offsets)}


class LoraRow(RowParallelLinear):
    """One projection, cut by input."""

    def __init__(self, input_size: int, output_size: int, *, lora: Lora, **options: Any) -> None:
        super().__init__(input_size, output_size, **options)
        self.scale, rank = lora.scale, lora.rank
        self.lora_a = torch.nn.Parameter(self.weight.new_empty(rank, self.input_size_per_partition))
        self.lora_b = torch.nn.Parameter(self.weight.new_empty(output_size, rank))
        mark(self.lora_b, sequence_parallel=self.sequence_parallel)

    def reset_adapter(self, generator: torch.Generator) -> None:
        whole = draw(self.lora_a.size(0), self.input_size, generator)
        part = whole.chunk(self.tp_group.size(), dim=1)[parallel_state.get_tensor_model_parallel_rank()]
        self.lora_a.data.copy_(part)
        self.lora_b.data.zero_()

    def forward(self, input_: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor | None]:
        output, bias = super().forward(input_)
        low = functional.linear(input_, self.lora_a)
        if self.sequence_parallel:
            low = tensor_parallel.reduce_scatter_to_sequence_parallel_region(low)
        else:
            low = tensor_parallel.reduce_from_tensor_model_parallel_region(low)
        return output + functional.linear(self.scale * low, self.lora_b), bias

    def sharded_state_dict(
        self, prefix: str = "", sharded_offsets: tuple[Any, ...] = (), metadata: Any = None
    ) -> dict[str, Any]:
        state, cut = self.state_dict(prefix="", keep_vars=True), {"weight": 1, "lora_a": 1}
        return make_sharded_tensors_for_checkpoint(
            state, prefix, cut, sharded_offsets, tp_group=self.tp_group, dp_cp_group=metadata["dp_cp_group"]
        )
