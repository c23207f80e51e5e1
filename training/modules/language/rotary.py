"""Rotary embeddings that Megatron does not have: of scaled frequencies, and of tokens that have three positions, time,
row and column (M-RoPE).

Wang et al. 2024 (arXiv 2409.12191); interleaved: Qwen3-VL, so that each of the three has fast and slow frequencies.
"""

from collections.abc import Sequence
from typing import Any, Literal

import torch
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS


def frequencies(text: Any) -> torch.Tensor:
    """[head_dim / 2] in fp32: how fast each pair of a head turns, as `rope_type` scales it (`models.language.SCALED`).

    Llama 3 (arXiv 2407.21783): slow pairs turn slower by a factor, so that a longer context stays within known angles.
    """
    return ROPE_INIT_FUNCTIONS[text.rope_parameters["rope_type"]](text, torch.device("cpu"))[0]


class MultimodalRotary(torch.nn.Module):
    """In the place of Megatron's, which knows no interleaved frequencies and cuts packed rows wrongly for CP."""

    def __init__(
        self, head_dim: int, base: float, section: Sequence[int], how: Literal["interleaved", "chunked"]
    ) -> None:
        """`section`: frequencies of time, row and column, head_dim / 2 in all."""
        super().__init__()
        steps = torch.arange(0, head_dim, 2, dtype=torch.float32)
        self.inv_freq = 1.0 / (base ** (steps / head_dim))  # [head_dim / 2]; no buffer: it stays in fp32
        self.axis = frequency_axes(section, how)

    def forward(self, position_ids: torch.Tensor, *_: Any, **__: Any) -> torch.Tensor:
        """[3, b, s] -> angles [s, b, 1, head_dim] of just these positions."""
        self.inv_freq, self.axis = self.inv_freq.to(position_ids.device), self.axis.to(position_ids.device)
        freqs = position_ids.to(self.inv_freq.dtype)[self.axis].permute(2, 1, 0) * self.inv_freq
        return torch.cat([freqs, freqs], dim=-1).unsqueeze(2)


def hold_in_fp32(part: torch.nn.Module, device: torch.device | int) -> None:
    """Take a Hugging Face module's frequencies out of its buffers, which casting it to bf16 would round; as it loads a
    checkpoint itself, which is what the server does, they stay in fp32."""
    for module in part.modules():
        buffers = module._non_persistent_buffers_set  # pyright: ignore[reportPrivateUsage]  # torch says it nowhere else
        for name in sorted(buffers):
            if module.get_buffer(name).is_floating_point():
                frequencies = module.get_buffer(name).to(device, copy=True)  # no nn.Buffer any more
                delattr(module, name)
                setattr(module, name, frequencies)


def frequency_axes(section: Sequence[int], how: Literal["interleaved", "chunked"]) -> torch.Tensor:
    """[head_dim / 2]: by which of the three positions each frequency turns."""
    if how == "chunked":
        return torch.arange(3).repeat_interleave(torch.tensor(section))
    axes = torch.zeros(sum(section), dtype=torch.long)
    for axis in (1, 2):
        axes[axis : 3 * section[axis] : 3] = axis
    return axes
