"""Many tasks, several at a time."""
