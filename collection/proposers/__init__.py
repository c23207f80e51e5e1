"""Task proposers: prompts, reading of what a model proposes, and the filters that proposals must pass."""
