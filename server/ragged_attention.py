"""Ragged attention: one forward pass for sequences that are being answered and prompts that are still being read.

A `Step` lays all its new tokens end to end: one for each sequence that decodes, then chunks of prompts. Everything in
the model but attention treats tokens alone, so no padding is computed; attention looks each token's own sequence up in
the KV slots. Reading prompts in chunks beside the decoding keeps long prompts from holding up short replies (Sarathi,
arXiv:2308.16369).
"""

import dataclasses
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import torch
from torch.nn.functional import scaled_dot_product_attention
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

from server.kv_slots import KVSlots

NAME = "elcano_ragged"

Kernel = Callable[..., torch.Tensor]  # (query, key, value, attn_mask=..., is_causal=..., scale=..., enable_gqa=...)


@dataclasses.dataclass(frozen=True)
class Chunk:
    """`length` prompt tokens of the sequence in `row`, of which `start` positions are in the slots already."""

    row: int
    start: int
    length: int

    @property
    def end(self) -> int:
        return self.start + self.length


@dataclasses.dataclass(frozen=True)
class Step:
    """Rows 0, 1, ... of the slots get one token each, at `decode_positions`; the tokens of `chunks` come behind."""

    slots: KVSlots
    decode_positions: Sequence[int]
    chunks: Sequence[Chunk]
    sliding_window: int | None = None
    kernel: Kernel = scaled_dot_product_attention

    @cached_property
    def position_ids(self) -> torch.Tensor:
        """[1, tokens]"""
        positions = list(self.decode_positions)
        for chunk in self.chunks:
            positions.extend(range(chunk.start, chunk.end))
        return torch.tensor([positions], device=self._device)

    def attend(
        self, layer: int, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, scale: float
    ) -> torch.Tensor:
        """query [1, heads, tokens, head_dim], key and value [1, kv_heads, tokens, head_dim] of the new tokens ->
        [1, tokens, heads, head_dim]; the keys and values are stored on the way."""
        output = query.new_empty(1, query.shape[2], query.shape[1], value.shape[3])
        begin = len(self.decode_positions)
        if begin:
            output[0, :begin] = self._decode(layer, query[0, :, :begin], key[0, :, :begin], value[0, :, :begin], scale)
        for chunk, mask in zip(self.chunks, self._chunk_masks, strict=True):
            new = slice(begin, begin + chunk.length)
            keys, values = self.slots.tensor[layer, :, chunk.row, :, : chunk.end]  # [kv_heads, end, head_dim]
            keys[:, chunk.start :], values[:, chunk.start :] = key[0, :, new], value[0, :, new]
            attended = self.kernel(
                query[:, :, new],
                keys[None],
                values[None],
                attn_mask=mask,
                is_causal=mask is None and chunk.length > 1,
                scale=scale,
                enable_gqa=query.shape[1] != key.shape[1],
            )
            output[:, new] = attended.transpose(1, 2)
            begin = new.stop
        return output

    def _decode(
        self, layer: int, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, scale: float
    ) -> torch.Tensor:
        """[heads, rows, head_dim] -> [rows, heads, head_dim]. The query heads that share a key head stand where a
        kernel expects query positions, so that keys are never repeated."""
        heads, rows, head_dim = query.shape
        keys, values = self.slots.tensor[layer, :, :rows]
        index, positions = self._decode_index
        keys[index, :, positions], values[index, :, positions] = key.transpose(0, 1), value.transpose(0, 1)
        longest = max(self.decode_positions) + 1
        grouped = query.transpose(0, 1).reshape(rows, key.shape[0], heads // key.shape[0], head_dim)
        attended = self.kernel(
            grouped, keys[:, :, :longest], values[:, :, :longest], attn_mask=self._decode_mask, scale=scale
        )
        return attended.reshape(rows, heads, -1)

    @property
    def _device(self) -> torch.device:
        return self.slots.tensor.device

    @cached_property
    def _decode_index(self) -> tuple[torch.Tensor, torch.Tensor]:
        positions = torch.tensor(self.decode_positions, device=self._device)
        return torch.arange(len(self.decode_positions), device=self._device), positions

    @cached_property
    def _decode_mask(self) -> torch.Tensor:
        """[rows, 1, 1, longest], additive."""
        return self._mask(self._decode_index[1][:, None], max(self.decode_positions) + 1)[:, None, None]

    @cached_property
    def _chunk_masks(self) -> list[torch.Tensor | None]:
        """[length, end] each, or None where plain causal attention says the same."""
        masks: list[torch.Tensor | None] = []
        for chunk in self.chunks:
            windowed = self.sliding_window is not None and chunk.end > self.sliding_window
            if chunk.start == 0 and not windowed:
                masks.append(None)
            else:
                own = torch.arange(chunk.start, chunk.end, device=self._device)
                masks.append(self._mask(own[:, None], chunk.end))
        return masks

    def _mask(self, own: torch.Tensor, length: int) -> torch.Tensor:
        """[queries, length]: 0 where a query at position `own` may look, a large negative number elsewhere."""
        index = torch.arange(length, device=self._device)
        hidden = index > own
        if self.sliding_window is not None:
            hidden |= index <= own - self.sliding_window
        dtype = self.slots.tensor.dtype
        return torch.zeros(hidden.shape, dtype=dtype, device=self._device).masked_fill_(hidden, torch.finfo(dtype).min)


def eager(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: torch.Tensor | None = None,
    is_causal: bool = False,
    scale: float = 1.0,
    enable_gqa: bool = False,
) -> torch.Tensor:
    """Attention spelled out, with its softmax in float32: `--attn_implementation eager`."""
    if enable_gqa:
        repeats = query.shape[1] // key.shape[1]
        key, value = key.repeat_interleave(repeats, dim=1), value.repeat_interleave(repeats, dim=1)
    scores = query @ key.transpose(2, 3) * scale
    if is_causal:
        hidden = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).triu_(1)
        scores = scores.masked_fill(hidden, torch.finfo(scores.dtype).min)
    if attn_mask is not None:
        scores = scores + attn_mask
    return scores.softmax(-1, dtype=torch.float32).to(query.dtype) @ value


KERNELS: dict[str, Kernel] = {"sdpa": scaled_dot_product_attention, "eager": eager}


def _forward(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float,
    step: Step | None = None,
    **kwargs: Any,
) -> tuple[torch.Tensor, None]:
    """What Hugging Face attention modules call. Without a step it is plain attention: `generate` still works."""
    if step is None:
        return sdpa_attention_forward(module, query, key, value, attention_mask, scaling=scaling, **kwargs)
    return step.attend(module.layer_idx, query, key, value, scaling), None


def install(text_model: Any) -> None:
    """Let a Hugging Face text model attend by `step=...`, given to its `forward`."""
    AttentionInterface.register(NAME, _forward)
    AttentionMaskInterface.register(NAME, sdpa_mask)
    text_model.config._attn_implementation = NAME
