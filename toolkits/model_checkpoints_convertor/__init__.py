"""Checkpoint conversion between Hugging Face and Megatron: one converter, one folder of scripts per model."""
