"""What a model sees, told once for trainer, scorer, server and converters: a folder per family, the same file names."""
