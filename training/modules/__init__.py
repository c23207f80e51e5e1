"""One folder per model, always the same file names: config.py, model.py, weights.py."""
