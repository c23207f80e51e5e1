"""The forum: boards of threads, with votes and replies."""
