"""Idefics3, and SmolVLM of its kind: square tiles and the whole of every image."""
