"""The HTTP inference server."""
