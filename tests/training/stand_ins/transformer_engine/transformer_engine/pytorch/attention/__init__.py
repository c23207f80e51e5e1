import math

import torch

from transformer_engine.pytorch.attention.rope import apply_rotary_pos_emb


class DotProductAttention(torch.nn.Module):
    """The formula, with a whole mask; grouped heads, a window and packed samples."""

    def __init__(
        self,
        num_attention_heads,
        kv_channels,
        num_gqa_groups,
        attention_dropout,
        attn_mask_type,
        attention_type,
        sequence_parallel,
        tp_size,
        get_rng_state_tracker,
        tp_group,
        layer_number,
        softmax_scale,
        window_size=None,
        cp_group=None,
        cp_global_ranks=None,
        cp_stream=None,
        cp_comm_type="p2p",
    ):
        super().__init__()
        assert attention_dropout == 0 and attn_mask_type == "causal" and cp_group is None
        self.scale, self.window = softmax_scale or 1 / math.sqrt(kv_channels), window_size

    def forward(
        self,
        query,
        key,
        value,
        attention_mask,
        attn_mask_type,
        qkv_format="sbhd",
        cu_seqlens_q=None,
        cu_seqlens_kv=None,
        cu_seqlens_q_padded=None,
        cu_seqlens_kv_padded=None,
        max_seqlen_q=None,
        max_seqlen_kv=None,
        **unset,
    ):
        assert not any(value is not None for value in unset.values()), unset
        packed = qkv_format == "thd"
        assert attn_mask_type == ("padding_causal" if packed else "causal")
        if packed:
            query, key, value = (tensor.unsqueeze(1) for tensor in (query, key, value))
        length, groups = len(query), query.size(2) // key.size(2)
        key, value = (tensor.repeat_interleave(groups, dim=2) for tensor in (key, value))
        positions = torch.arange(length)
        sample = torch.bucketize(positions, cu_seqlens_q[1:], right=True) if packed else torch.zeros(length)
        distance = positions[:, None] - positions[None, :]
        left = self.window[0] if self.window else length
        seen = (distance >= 0) & (distance <= left) & (sample[:, None] == sample[None, :])
        scores = torch.einsum("qbhd,kbhd->bhqk", query, key) * self.scale
        weights = scores.masked_fill(~seen, -torch.inf).softmax(-1)
        output = torch.einsum("bhqk,kbhd->qbhd", weights, value).flatten(2)
        return output.squeeze(1) if packed else output
