"""The embedded teacher: an expert on the embedded websites that reads the messages a chat model would get."""
