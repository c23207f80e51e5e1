"""The field's other data, read into our contracts; no reader runs what a file says."""
