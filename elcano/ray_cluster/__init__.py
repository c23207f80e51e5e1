"""Ray, by its own actors: the cluster of a run, and the place of a command on one of its nodes."""
