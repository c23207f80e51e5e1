"""A command of a run on Ray: an actor, and its place on a node."""
