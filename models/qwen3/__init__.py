"""Qwen3, dense: a language model alone."""
