"""KV slots: the keys and values of every sequence in the batch, one row each, in one tensor a layer.

Rows are moved, copied out and copied in whole: that is how a sequence takes over what another one, or its own last
step, has computed already. The layers grow one after the other, so that growing holds one layer twice and no more;
where memory runs out on the way, every layer still holds what it held.
"""

import torch

_GROWTH = 256  # capacity grows by whole blocks of this many positions, so that it rarely grows


class KVSlots:
    """`layers[i]` is [2 (keys, values), rows, kv_heads, capacity, head_dim]; they start empty."""

    def __init__(self, num_layers: int, num_heads: int, head_dim: int, dtype: torch.dtype, device: torch.device):
        self._empty = torch.zeros(2, 0, num_heads, 0, head_dim, dtype=dtype, device=device)
        self.layers = [self._empty] * num_layers
        self.read_together = device.type != "cpu"
        """Whether decoding rows are read in one call, each up to the longest one's length, under a mask."""
        self.bytes_per_token = num_layers * 2 * num_heads * head_dim * self._empty.element_size()

    @property
    def dtype(self) -> torch.dtype:
        return self._empty.dtype

    @property
    def device(self) -> torch.device:
        return self._empty.device

    @property
    def num_rows(self) -> int:
        return min(layer.shape[1] for layer in self.layers)

    @property
    def capacity(self) -> int:
        """Positions of a row."""
        return min(layer.shape[3] for layer in self.layers)

    @property
    def held_bytes(self) -> int:
        """Memory that is held."""
        return sum(layer.nbytes for layer in self.layers)

    def nbytes(self, num_rows: int, length: int) -> int:
        """Memory of `num_rows` rows with `length` positions."""
        return num_rows * _whole_blocks(length) * self.bytes_per_token

    def peak_bytes(self, num_rows: int, length: int) -> int:
        """Memory that is held on the way to this size: each layer stays until it has been copied."""
        held = peak = self.held_bytes
        capacity, nbytes = _whole_blocks(length), self.nbytes(num_rows, length) // len(self.layers)
        for layer in self.layers:
            if (layer.shape[1], layer.shape[3]) != (num_rows, capacity):
                peak, held = max(peak, held + nbytes), held + nbytes - layer.nbytes
        return max(peak, held)

    def resize(self, num_rows: int, length: int) -> None:
        """Have `num_rows` rows with room for `length` positions; what fits is kept."""
        capacity = _whole_blocks(length)
        for number in range(len(self.layers)):
            self.layers[number] = _resized(self.layers[number], num_rows, capacity)

    def release(self) -> None:
        """Give all memory back."""
        self.layers = [self._empty] * len(self.layers)

    def read(self, row: int, length: int) -> torch.Tensor:
        """A copy of the first `length` positions: [layers, 2, kv_heads, length, head_dim]."""
        two, _, heads, _, head_dim = self._empty.shape
        kv = self._empty.new_empty(len(self.layers), two, heads, length, head_dim)
        for layer, target in zip(self.layers, kv, strict=True):
            target.copy_(layer[:, row, :, :length])
        return kv

    def write(self, row: int, kv: torch.Tensor, length: int) -> None:
        """Put the first `length` positions of what `read` gave, [layers, 2, kv_heads, n, head_dim], into a row."""
        for layer, source in zip(self.layers, kv, strict=True):
            layer[:, row, :, :length] = source[:, :, :length]

    def copy(self, source: int, target: int, length: int) -> None:
        """Copy the first `length` positions of one row to another, and clear the rest of that."""
        for layer in self.layers:
            layer[:, target, :, :length] = layer[:, source, :, :length]
        self.clear(target, length)

    def clear(self, row: int, begin: int) -> None:
        """Zeros from position `begin` on, where rows are read together: what an earlier sequence left there may not be
        finite, and a weight of 0 times that is no number."""
        if self.read_together:
            for layer in self.layers:
                layer[:, row, :, begin:] = 0

    def spare(self, length: int) -> torch.Tensor:
        """[2, kv_heads, n, head_dim]: what `swap` of `length` positions needs beside the rows. At most one block of one
        layer, so little that it counts among a step's activations."""
        two, _, heads, _, head_dim = self._empty.shape
        return self._empty.new_empty(two, heads, min(length, _GROWTH), head_dim)

    def swap(self, one: int, other: int, length: int, spare: torch.Tensor) -> None:
        """Exchange the first `length` positions of two rows. Allocates nothing: it cannot stop half-way."""
        block = spare.shape[2]
        for layer in self.layers:
            for begin in range(0, length, block):
                part = slice(begin, min(begin + block, length))
                kept = spare[:, :, : part.stop - begin]
                kept.copy_(layer[:, one, :, part])
                layer[:, one, :, part] = layer[:, other, :, part]
                layer[:, other, :, part] = kept


def _resized(old: torch.Tensor, num_rows: int, capacity: int) -> torch.Tensor:
    """[2, rows, kv_heads, capacity, head_dim] with other rows and capacity."""
    two, rows, heads, length, head_dim = old.shape
    if (num_rows, capacity) == (rows, length):
        return old
    # zeros, not empty: padding must stay finite under the mask
    new = old.new_zeros(two, num_rows, heads, capacity, head_dim)
    rows, length = min(num_rows, rows), min(capacity, length)
    new[:, :rows, :, :length] = old[:, :rows, :, :length]
    return new


def _whole_blocks(length: int) -> int:
    return -(-length // _GROWTH) * _GROWTH
