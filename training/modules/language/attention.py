"""Attention without TransformerEngine: on kernels whose memory grows with the length of a row, never with its square.

On a GPU in bf16 everything goes through flash attention for sequences of many lengths: packed or padded rows, a sliding
window, grouped queries, and the parts that a context-parallel rank holds. Elsewhere (CPU, fp32, heads that flash does
not know) scaled dot products are taken block by block, where a mask is needed at all; one mask, as wide as a block
sees, serves all blocks. What no kernel of the GPU takes `kernels.check_attention` refuses before the start.
"""

import contextlib
import functools
import inspect
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import torch
from megatron.core import parallel_state
from megatron.core.transformer.module import MegatronModule
from megatron.core.transformer.transformer_config import TransformerConfig
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.attention.varlen import varlen_attn

from training.modules.collectives import AllGather
from training.modules.language.context_parallel import Block, blocks, gathered_order
from training.modules.language.packed import PackedSamples

BLOCK = 512
"""Queries that share a mask."""
_ALIGNMENT = 16  # keys: GPU kernels refuse masks whose rows do not start at multiples of it
_KNOWS_GROUPS = "enable_gqa" in inspect.signature(varlen_attn).parameters  # torch 2.13 does, 2.11 does not
_WITHOUT_MATH = [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.CUDNN_ATTENTION]


class CausalAttention(MegatronModule):
    """softmax(QK^T)V over the past of a token's own sample, at most `config.window_size` of it.

    Padding on the right needs no mask. Context-parallel ranks gather keys and values, and attend from their queries.
    """

    def __init__(
        self, config: TransformerConfig, softmax_scale: float | None = None, varlen: bool = False, **_: Any
    ) -> None:
        super().__init__(config=config)
        self.scale, self.varlen = softmax_scale, varlen
        self.window = config.window_size[0] + 1 if config.window_size else None
        self.group = parallel_state.get_context_parallel_group()

    def forward(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        attention_mask: None,
        packed_seq_params: PackedSamples | None = None,
        **_: Any,
    ) -> torch.Tensor:
        """query [s, b, heads, d], key and value [s, b, kv_heads, d] -> [s, b, heads * d]; packed ones have no b.
        Of whole rows the last queries alone may be given."""
        size = self.group.size()
        if packed_seq_params is not None:
            lengths = packed_seq_params.lengths
            query, key, value = (tensor.unsqueeze(1) for tensor in (query, key, value))
        else:
            lengths = (key.size(0) * size,)
        if size > 1:
            both = AllGather.apply(torch.stack([key, value], dim=1), self.group)
            key, value = both.index_select(0, gathered_order(lengths, size, both.device)).unbind(1)
        held = list(blocks(lengths, self.group.rank(), size))
        if query.size(0) < key.size(0) and size == 1:
            held = [Block(0, query.size(0), 0, key.size(0) - query.size(0))]
        attend = self._in_one_call if self.varlen else self._block_by_block
        output = attend(query, key, value, held).flatten(2)
        return output if packed_seq_params is None else output.squeeze(1)

    def _seen(self, block: Block) -> slice:
        """The keys that any of the block's queries attends to."""
        first = max(0, block.position + 1 - self.window) if self.window else 0
        return slice(block.keys + first, block.keys + block.position + block.length)

    def _in_one_call(
        self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, held: Sequence[Block]
    ) -> torch.Tensor:
        """Every block of every row is a sequence; the kernel puts the last query beside the last key."""
        batch, seen = query.size(1), [self._seen(block) for block in held]
        grouped: dict[str, Any] = {"enable_gqa": query.size(2) != key.size(2)} if _KNOWS_GROUPS else {}
        if not _KNOWS_GROUPS:
            key, value = _for_each_head(query, key, value)
        num_queries = tuple(block.length for block in held for _ in range(batch))
        num_keys = tuple(keys.stop - keys.start for keys in seen for _ in range(batch))
        longest = max(num_keys)
        window = self.window if self.window is not None and self.window < longest else 0
        output = varlen_attn(
            _rows(query, (slice(block.start, block.start + block.length) for block in held)),
            _rows(key, seen),
            _rows(value, seen),
            _bounds(num_queries, query.device),
            _bounds(num_keys, query.device),
            max(num_queries),
            longest,
            scale=self.scale,
            window_size=(window - 1, 0),
            **grouped,
        )
        assert isinstance(output, torch.Tensor)
        parts = output.split([block.length * batch for block in held])
        return _joined([part.unflatten(0, (batch, -1)).transpose(0, 1) for part in parts])

    def _block_by_block(
        self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, held: Sequence[Block]
    ) -> torch.Tensor:
        """With scaled dot products; on a GPU they raise rather than take PyTorch's plain formula."""
        grouped, on_gpu = query.size(2) != key.size(2), torch.cuda.is_available()
        if grouped and on_gpu:  # the memory-efficient kernel has no groups
            key, value = _for_each_head(query, key, value)
        query, key, value = (tensor.permute(1, 2, 0, 3) for tensor in (query, key, value))  # [b, heads, s, d]
        most = self.window + BLOCK - 1 if self.window else max(block.position + block.length for block in held)
        band = _Band(-(-most // BLOCK) * BLOCK, self.window)
        parts = []
        with sdpa_kernel(_WITHOUT_MATH) if on_gpu else contextlib.nullcontext():
            for piece in (piece for block in held for piece in self._pieces(block)):
                seen = self._seen(piece)
                causal = seen.stop - seen.start == piece.length and piece.length <= (self.window or piece.length)
                if not causal:
                    seen = _aligned(seen, piece.keys)
                parts.append(
                    functional.scaled_dot_product_attention(
                        query[:, :, piece.start : piece.start + piece.length],
                        key[:, :, seen],
                        value[:, :, seen],
                        attn_mask=None if causal else band.corner(piece.length, seen.stop - seen.start, query),
                        is_causal=causal,
                        scale=self.scale,
                        enable_gqa=grouped and not on_gpu,
                    )
                )
        return _joined([part.permute(2, 0, 1, 3) for part in parts])

    def _pieces(self, block: Block) -> Iterator[Block]:
        """The block, whole where it needs no mask, else cut into pieces that each need but a narrow one."""
        if block.position == 0 and block.length <= (self.window or block.length):
            yield block
            return
        for start in range(0, block.length, BLOCK):
            length = min(BLOCK, block.length - start)
            yield Block(block.start + start, length, block.keys, block.position + start)


def _joined(parts: list[torch.Tensor]) -> torch.Tensor:
    return torch.cat(parts) if len(parts) > 1 else parts[0]


def _aligned(seen: slice, first: int) -> slice:
    """A multiple of `_ALIGNMENT` keys, where there are as many from `first` on; the mask covers the additional ones."""
    return slice(max(first, seen.start - (seen.start - seen.stop) % _ALIGNMENT), seen.stop)


def _for_each_head(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Keys and values [s, b, kv_heads, d] -> [s, b, heads, d], for kernels that know no groups."""
    groups = query.size(2) // key.size(2)
    return key.repeat_interleave(groups, dim=2), value.repeat_interleave(groups, dim=2)


def _rows(tensor: torch.Tensor, positions: Iterable[slice]) -> torch.Tensor:
    """[s, b, heads, d] -> the rows' `positions` [tokens, heads, d], those of the first row first, slice by slice."""
    return _joined([tensor[part].transpose(0, 1).flatten(0, 1) for part in positions])


@functools.lru_cache(maxsize=8)
def _bounds(lengths: tuple[int, ...], device: torch.device) -> torch.Tensor:
    """Where each sequence starts, and where the last one ends: int32 [sequences + 1]."""
    return torch.tensor([0, *lengths], dtype=torch.int32).cumsum(0, dtype=torch.int32).to(device)


class _Band(NamedTuple):
    """The mask of a call's pieces: they see at most `width` keys each, a multiple of `BLOCK`."""

    width: int
    window: int | None

    def corner(self, length: int, num_keys: int, like: torch.Tensor) -> torch.Tensor:
        """[length, num_keys], added to the scores: for the last `length` of `num_keys` positions."""
        mask = _band(self.width, self.window, like.dtype, like.device)[-length:, -num_keys:]
        return mask.contiguous() if like.is_cuda and num_keys % _ALIGNMENT else mask


@functools.lru_cache(maxsize=4)
def _band(width: int, window: int | None, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    """[BLOCK, width]: 0 where the last `BLOCK` of `width` positions see one (at most `window` back), else -inf.

    Pieces take its lower right corner: views, so that what is kept for the backward pass is this one tensor.
    """
    positions = torch.arange(width, device=device)
    distance = positions[width - BLOCK :, None] - positions[None, :]
    seen = (distance >= 0) & (distance < (window or width))
    return torch.zeros(seen.shape, dtype=dtype, device=device).masked_fill(~seen, -torch.inf)
