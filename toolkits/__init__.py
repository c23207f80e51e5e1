"""Converters between the rooms: trajectories to shards, checkpoints Hugging Face to Megatron and back."""
