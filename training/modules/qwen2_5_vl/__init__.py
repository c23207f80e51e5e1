"""Qwen2.5-VL on megatron-core."""
