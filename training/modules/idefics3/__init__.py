"""Idefics3 on megatron-core."""
