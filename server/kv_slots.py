"""KV slots: the keys and values of every sequence in the batch, one row each, in one tensor that grows.

Rows are moved, copied out and copied in whole: that is how a sequence takes over what another one, or its own last
step, has computed already.
"""

import torch

_GROWTH = 256  # capacity grows by whole blocks of this many positions, so that it rarely grows


class KVSlots:
    """`tensor` is [layers, 2 (keys, values), rows, kv_heads, capacity, head_dim]; it starts empty."""

    def __init__(self, num_layers: int, num_heads: int, head_dim: int, dtype: torch.dtype, device: torch.device):
        self.tensor = torch.zeros(num_layers, 2, 0, num_heads, 0, head_dim, dtype=dtype, device=device)
        self.bytes_per_token = num_layers * 2 * num_heads * head_dim * self.tensor.element_size()

    @property
    def num_rows(self) -> int:
        return self.tensor.shape[2]

    @property
    def capacity(self) -> int:
        """Positions of a row."""
        return self.tensor.shape[4]

    def nbytes(self, num_rows: int, length: int) -> int:
        """Memory of `num_rows` rows with `length` positions."""
        return num_rows * _whole_blocks(length) * self.bytes_per_token

    def resize(self, num_rows: int, length: int) -> None:
        """Have `num_rows` rows with room for `length` positions; what fits is kept."""
        capacity, old = _whole_blocks(length), self.tensor
        if (num_rows, capacity) != (self.num_rows, self.capacity):
            layers, two, _, heads, _, head_dim = old.shape
            # zeros, not empty: padding must stay finite under the mask
            self.tensor = old.new_zeros(layers, two, num_rows, heads, capacity, head_dim)
            rows, length = min(num_rows, old.shape[2]), min(capacity, old.shape[4])
            self.tensor[:, :, :rows, :, :length] = old[:, :, :rows, :, :length]

    def release(self) -> None:
        """Give all memory back."""
        self.tensor = self.tensor[:, :, :0, :, :0].clone()

    def read(self, row: int, length: int) -> torch.Tensor:
        """A copy of the first `length` positions: [layers, 2, kv_heads, length, head_dim]."""
        return self.tensor[:, :, row, :, :length].clone()

    def write(self, row: int, kv: torch.Tensor, length: int) -> None:
        """Put the first `length` positions of what `read` gave into a row."""
        self.tensor[:, :, row, :, :length] = kv[:, :, :, :length]

    def copy(self, source: int, target: int, length: int) -> None:
        """Copy the first `length` positions of one row to another."""
        self.tensor[:, :, target, :, :length] = self.tensor[:, :, source, :, :length]

    def swap(self, one: int, other: int, length: int) -> None:
        """Exchange the first `length` positions of two rows."""
        kept = self.read(one, length)
        self.copy(other, one, length)
        self.write(other, kept, length)


def _whole_blocks(length: int) -> int:
    return -(-length // _GROWTH) * _GROWTH
