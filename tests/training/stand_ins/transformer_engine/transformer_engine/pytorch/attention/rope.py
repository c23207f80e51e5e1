import torch


def apply_rotary_pos_emb(
    t, freqs, tensor_format="sbhd", interleaved=False, fused=True, cu_seqlens=None, cp_size=1, cp_rank=0, **_
):
    """[s, b, heads, d], or packed [tokens, heads, d], turned by the angles `freqs` [longest, 1, 1, d]."""
    assert fused and not interleaved and cp_size == 1
    if tensor_format == "thd":
        parts = t.split(cu_seqlens.diff().tolist())
        return torch.cat([_turn(part.unsqueeze(1), freqs).squeeze(1) for part in parts])
    return _turn(t, freqs)


def _turn(t, freqs):
    angles = freqs[: len(t)]
    first, second = t.chunk(2, dim=-1)
    cos, sin = angles.cos().to(t.dtype), angles.sin().to(t.dtype)
    return t * cos + torch.cat([-second, first], dim=-1) * sin
