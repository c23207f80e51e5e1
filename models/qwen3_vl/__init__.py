"""Qwen3-VL, dense: a tower of any image shape, whose inner layers also reach the first decoder layers."""
