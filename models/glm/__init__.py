"""GLM-4: a language model alone."""
