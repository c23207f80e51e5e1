"""A model family that is not in the repository, and nothing but what docs/reference/models.md says one adds: a folder
for `models/`, one for `training/modules/`, and the line in `models/registry.py`, which `sitecustomize.py` adds."""
