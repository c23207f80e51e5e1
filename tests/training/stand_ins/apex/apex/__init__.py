"""Stands for NVIDIA's apex built with its CUDA extensions: what megatron-core 0.16.1 uses of it, in plain PyTorch."""
