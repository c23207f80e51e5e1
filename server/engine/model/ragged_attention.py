"""Ragged attention: one forward pass for sequences that are being answered and prompts that are still being read.

A `RaggedStep` lays all its new tokens end to end: the newest one of each sequence that decodes with its draft, then
chunks of prompts. Everything in the model but attention treats tokens alone, so no padding is computed; attention looks
each token's own sequence up in the KV slots. Reading prompts in chunks beside the decoding keeps long prompts from
holding up short replies (Sarathi, arXiv:2308.16369).
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

from server.engine.memory.kv_slots import KVSlots

NAME = "elcano_ragged"

Kernel = Callable[..., torch.Tensor]  # (query, key, value, attn_mask=..., is_causal=..., scale=..., enable_gqa=...)


@dataclasses.dataclass(frozen=True)
class Chunk:
    """`length` new tokens of the sequence in `row`, of which `start` positions are in the slots already.

    `position_ids` [rows, length] are for the rotary embedding; None: they count on from `start`. Nobody reads what the
    last layer makes of the first `num_unread` tokens.
    """

    row: int
    start: int
    length: int
    position_ids: torch.Tensor | None = dataclasses.field(default=None, compare=False)
    num_unread: int = 0

    @property
    def end(self) -> int:
        return self.start + self.length

    @property
    def read(self) -> "Chunk":
        """Its other tokens."""
        return Chunk(self.row, self.start + self.num_unread, self.length - self.num_unread)


@dataclasses.dataclass(frozen=True)
class RaggedStep:
    """`decoding[i]` continues the reply in row i of the slots by a few tokens; the prompts' `chunks` come behind."""

    slots: KVSlots
    decoding: Sequence[Chunk]
    chunks: Sequence[Chunk]
    sliding_window: int | None = None
    kernel: Kernel = scaled_dot_product_attention

    @cached_property
    def position_ids(self) -> torch.Tensor:
        """[1, tokens], or of a family with several rows of them [rows, 1, tokens], as its text model takes them."""
        chunks = (*self.decoding, *self.chunks)
        if chunks[0].position_ids is None:  # all of a model's or none
            return torch.tensor([[n for chunk in chunks for n in range(chunk.start, chunk.end)]], device=self._device)
        rows = [chunk.position_ids for chunk in chunks if chunk.position_ids is not None]
        positions = torch.cat(rows, dim=1).to(self._device)
        return positions if len(positions) == 1 else positions[:, None]

    @cached_property
    def read(self) -> list[int]:
        """Of the new tokens those whose outcome in the last layer somebody reads."""
        read, end = [], 0
        for chunk in (*self.decoding, *self.chunks):
            end += chunk.length
            read += range(end - chunk.read.length, end)
        return read

    @property
    def num_decoding(self) -> int:
        """Tokens of replies, which come before those of prompts."""
        return sum(chunk.length for chunk in self.decoding)

    def attend(
        self, layer: int, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, scale: float
    ) -> torch.Tensor:
        """query [1, heads, tokens, head_dim], key and value [1, kv_heads, tokens, head_dim] of the new tokens ->
        [1, tokens, heads, head_dim], in the last layer 0 at unread ones; the keys and values are stored on the way."""
        is_last = layer == len(self.slots.layers) - 1
        empty = query.new_zeros if is_last else query.new_empty
        output = empty(1, query.shape[2], query.shape[1], value.shape[3])
        begin = 0 if self._one_by_one else self.num_decoding
        if begin:
            output[0, :begin] = self._decode(layer, query[0, :, :begin], key[0, :, :begin], value[0, :, :begin], scale)
        for chunk, mask in zip(self._own_chunks, self._end_masks if is_last else self._chunk_masks, strict=True):
            new, asking = slice(begin, begin + chunk.length), chunk.read if is_last else chunk
            begin = new.stop
            keys, values = self.slots.layers[layer][:, chunk.row, :, : chunk.end]  # [kv_heads, end, head_dim]
            keys[:, chunk.start :], values[:, chunk.start :] = key[0, :, new], value[0, :, new]
            if not asking.length:
                continue
            queries = slice(new.stop - asking.length, new.stop)
            attended = self.kernel(
                query[:, :, queries],
                keys[None],
                values[None],
                attn_mask=mask,
                is_causal=mask is None and asking.length > 1,
                scale=scale,
                enable_gqa=query.shape[1] != key.shape[1],
            )
            output[:, queries] = attended.transpose(1, 2)
        return output

    def _decode(
        self, layer: int, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, scale: float
    ) -> torch.Tensor:
        """[heads, tokens, head_dim] -> [tokens, heads, head_dim]: all rows in one call of the kernel, with as many
        queries as the longest draft needs. The query heads that share a key head stand where the kernel expects further
        queries, so that keys are never repeated."""
        heads, _, head_dim = query.shape
        kv_heads, rows = key.shape[0], len(self.decoding)
        keys, values = self.slots.layers[layer][:, :rows]
        row, number, position, padded = self._decode_index
        keys[row, :, position], values[row, :, position] = key.transpose(0, 1), value.transpose(0, 1)
        grouped = query[:, padded].transpose(0, 1).reshape(rows, kv_heads, -1, head_dim)
        length = self._decode_mask.shape[-1]
        mask = self._decode_mask.repeat(1, 1, grouped.shape[2] // padded.shape[1], 1)
        attended = self.kernel(grouped, keys[:, :, :length], values[:, :, :length], attn_mask=mask, scale=scale)
        return attended.reshape(rows, heads, -1, head_dim)[row, :, number]

    @property
    def _device(self) -> torch.device:
        return self.slots.device

    @property
    def _one_by_one(self) -> bool:
        """On a CPU, where a call of the kernel costs little and padding costs as much as what it stands beside, replies
        attend like prompts: each to its own length, with its own number of queries."""
        return not self.slots.read_together

    @property
    def _own_chunks(self) -> Sequence[Chunk]:
        """Those with a call of the kernel for each."""
        return (*self.decoding, *self.chunks) if self._one_by_one else self.chunks

    @cached_property
    def _decode_index(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
        """Of each new token of the decoding rows: its row, its number within the row's tokens, its position; and
        [rows, queries], which of them each query is (a short row's last token fills it up)."""
        rows = [(row, n, chunk.start + n) for row, chunk in enumerate(self.decoding) for n in range(chunk.length)]
        longest, first, padded = max(chunk.length for chunk in self.decoding), 0, []
        for chunk in self.decoding:
            padded.append([first + min(n, chunk.length - 1) for n in range(longest)])
            first += chunk.length
        row, number, position = torch.tensor(rows, device=self._device).unbind(1)
        return row, number, position, torch.tensor(padded, device=self._device)

    @cached_property
    def _decode_mask(self) -> torch.Tensor:
        """[rows, 1, queries, longest], additive."""
        _, _, position, padded = self._decode_index
        return self._mask(position[padded][:, None, :, None], max(chunk.end for chunk in self.decoding))

    @cached_property
    def _chunk_masks(self) -> list[torch.Tensor | None]:
        return self._masks(self._own_chunks)

    @cached_property
    def _end_masks(self) -> list[torch.Tensor | None]:
        return self._masks([chunk.read for chunk in self._own_chunks])

    def _masks(self, chunks: Sequence[Chunk]) -> list[torch.Tensor | None]:
        """[length, end] each, or None where plain causal attention says the same."""
        masks: list[torch.Tensor | None] = []
        for chunk in chunks:
            windowed = self.sliding_window is not None and chunk.end > self.sliding_window
            if chunk.length == 0 or ((chunk.start == 0 or chunk.length == 1) and not windowed):
                masks.append(None)
            else:
                own = torch.arange(chunk.start, chunk.end, device=self._device)
                masks.append(self._mask(own[:, None], chunk.end))
        return masks

    def _mask(self, own: torch.Tensor, length: int) -> torch.Tensor:
        """[..., queries, length]: 0 where a query at position `own` [..., queries, 1] may look, a large negative number
        elsewhere."""
        index = torch.arange(length, device=self._device)
        hidden = index > own
        if self.sliding_window is not None:
            hidden |= index <= own - self.sliding_window
        dtype = self.slots.dtype
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
    """Attention spelled out, with its softmax in float32: `--attn_implementation eager`.

    query [b, heads, s, d], key and value [b, kv_heads, n, d], attn_mask [b, 1, s, n] -> [b, heads, s, d]
    """
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
    module: Any,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float,
    step: RaggedStep | None = None,
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
