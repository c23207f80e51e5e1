"""Llama: a language model alone."""
