"""KV slots: the keys and values of every running sequence, one row each, joined at prefill and left at the end.

It stands where Hugging Face models expect a cache: during a decode step each attention layer calls `update` with one
new key and value per sequence and gets back the whole batch, right-padded to the longest.
"""

import torch
from transformers import DynamicCache

_GROWTH = 256  # capacity grows by whole blocks of this many positions, so that it rarely grows


class KVSlots:
    """Rows 0 .. len(lengths)-1 are in use; `lengths[row]` positions of a row are filled.

    Per layer two tensors [num_slots, kv_heads, capacity, head_dim], made at the first `add` and grown when needed.
    """

    def __init__(self, num_slots: int):
        self.num_slots = num_slots
        self.lengths: list[int] = []
        self._keys: list[torch.Tensor] = []
        self._values: list[torch.Tensor] = []
        self._rows = self._positions = torch.empty(0, dtype=torch.long)

    def add(self, prefill: DynamicCache) -> None:
        """Take over the cache of one prefilled sequence as the last row."""
        row, length = len(self.lengths), prefill.get_seq_length()
        if row == self.num_slots:
            raise RuntimeError("no free slot")
        self._reserve(length + 1, prefill)
        for layer, keys, values in zip(prefill.layers, self._keys, self._values, strict=True):
            keys[row, :, :length] = layer.keys[0]
            values[row, :, :length] = layer.values[0]
        self.lengths.append(length)

    def remove(self, row: int) -> None:
        """Free a row: the last one moves into its place."""
        last, length = len(self.lengths) - 1, self.lengths[-1]
        if row != last:
            for tensor in (*self._keys, *self._values):
                tensor[row, :, :length] = tensor[last, :, :length]
            self.lengths[row] = length
        self.lengths.pop()

    def clear(self) -> None:
        """Free all rows."""
        self.lengths.clear()

    def begin_step(self, sliding_window: int | None) -> tuple[torch.Tensor, torch.Tensor]:
        """Make room for one more position in every row.

        Returns the position ids [rows, 1] of the new tokens and the additive attention mask [rows, 1, 1, kv_length].
        """
        device, dtype = self._keys[0].device, self._keys[0].dtype
        self._reserve(max(self.lengths) + 1)
        self._rows = torch.arange(len(self.lengths), device=device)
        self._positions = torch.tensor(self.lengths, device=device)
        self.lengths = [length + 1 for length in self.lengths]
        index = torch.arange(max(self.lengths), device=device)
        hidden = index > self._positions[:, None]
        if sliding_window is not None:
            hidden |= index <= self._positions[:, None] - sliding_window
        mask = torch.zeros(hidden.shape, device=device, dtype=dtype).masked_fill_(hidden, torch.finfo(dtype).min)
        return self._positions[:, None], mask[:, None, None, :]

    def update(
        self, key: torch.Tensor, value: torch.Tensor, layer_index: int, *_: object, **__: object
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """What Hugging Face attention calls: store [rows, kv_heads, 1, head_dim], return all up to the longest."""
        keys, values = self._keys[layer_index], self._values[layer_index]
        keys[self._rows, :, self._positions] = key[:, :, 0]
        values[self._rows, :, self._positions] = value[:, :, 0]
        rows, longest = len(self.lengths), max(self.lengths)
        return keys[:rows, :, :longest], values[:rows, :, :longest]

    def _reserve(self, length: int, prefill: DynamicCache | None = None) -> None:
        if not self._keys:
            for layer in prefill.layers:
                _, heads, _, head_dim = layer.keys.shape
                self._keys.append(layer.keys.new_zeros(self.num_slots, heads, 0, head_dim))
                self._values.append(layer.values.new_zeros(self.num_slots, heads, 0, layer.values.shape[-1]))
        missing = length - self._keys[0].shape[2]
        if missing > 0:
            extra = -(-missing // _GROWTH) * _GROWTH
            # zeros, not empty: padding must stay finite under the mask
            grown = [torch.nn.functional.pad(tensor, (0, 0, 0, extra)) for tensor in (*self._keys, *self._values)]
            self._keys, self._values = grown[: len(self._keys)], grown[len(self._keys) :]
