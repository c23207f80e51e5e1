"""Rotary frequencies keep their precision whatever the weights are in."""

import torch
from transformers import Qwen3VLVisionConfig
from transformers.models.qwen3_vl.modeling_qwen3_vl import Qwen3VLVisionModel

from training.modules.language.rotary import hold_in_fp32


def test_casting_a_tower_rounds_no_frequency() -> None:
    config = Qwen3VLVisionConfig(depth=1, hidden_size=64, intermediate_size=64, num_heads=2, out_hidden_size=64)
    tower = Qwen3VLVisionModel(config)
    page = torch.stack([torch.arange(64).repeat_interleave(48), torch.arange(48).repeat(64)])  # 1024 x 768 pixels
    hidden = torch.zeros(1, dtype=torch.bfloat16)
    exact = tower.rotary_pos_emb(hidden, page)
    hold_in_fp32(tower, torch.device("cpu"))
    tower.to(dtype=torch.bfloat16)
    assert tower.blocks[0].mlp.linear_fc1.weight.dtype == torch.bfloat16
    assert tower.rotary_pos_emb.inv_freq.dtype == torch.float32
    for held, angle in zip(tower.rotary_pos_emb(hidden, page), exact, strict=True):
        assert torch.equal(held, angle)
