"""A Ray cluster as a run finds it, or starts it: settings, safety, nodes."""
