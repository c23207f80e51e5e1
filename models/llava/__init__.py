"""LLaVA 1.5: every image is one square."""
