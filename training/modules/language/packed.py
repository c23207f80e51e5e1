"""What attention and rotary embeddings know of samples that are packed into a row."""

import dataclasses

import torch
from megatron.core.packed_seq_params import PackedSeqParams


@dataclasses.dataclass
class PackedSamples(PackedSeqParams):
    """Samples laid one after the other in a row, in the form that Megatron's rotary embedding and TE read."""

    lengths: tuple[int, ...] = ()

    @staticmethod
    def of(lengths: tuple[int, ...], device: torch.device) -> "PackedSamples":
        """For samples of `lengths` tokens each."""
        ends = torch.tensor([0, *lengths], dtype=torch.int32).cumsum(0, dtype=torch.int32).to(device)
        longest = max(lengths)
        return PackedSamples("thd", ends, ends, max_seqlen_q=longest, max_seqlen_kv=longest, lengths=lengths)
