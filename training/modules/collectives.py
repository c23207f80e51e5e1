"""The one collective that autograd and Megatron lack here."""

from typing import Any

import torch


class AllGather(torch.autograd.Function):
    """All-gather along the first axis, rank after rank: [n, ...] -> [n * ranks, ...]. The backward pass sums over the
    ranks and keeps its part."""

    @staticmethod
    def forward(context: Any, part: torch.Tensor, group: torch.distributed.ProcessGroup) -> torch.Tensor:
        context.group = group
        whole = part.new_empty(group.size() * part.size(0), *part.shape[1:])
        torch.distributed.all_gather_into_tensor(whole, part.contiguous(), group=group)
        return whole

    @staticmethod  # a function says itself how many gradients it takes
    def backward(  # pyright: ignore[reportIncompatibleMethodOverride]
        context: Any, gradient: torch.Tensor
    ) -> tuple[torch.Tensor, None]:
        own = gradient.new_empty(gradient.size(0) // context.group.size(), *gradient.shape[1:])
        torch.distributed.reduce_scatter_tensor(own, gradient.contiguous(), group=context.group)
        return own, None
