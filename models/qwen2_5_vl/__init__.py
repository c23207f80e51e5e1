"""Qwen2.5-VL: a tower of any image shape, most of whose layers attend within windows."""
