"""One collection over the nodes of a Ray cluster: docs/howto/clusters.md."""
