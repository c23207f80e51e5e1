"""Megatron training: models, data loading, the training loop and its launch scripts."""
