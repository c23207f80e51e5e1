"""Attributes of a parameter, by which Megatron knows what is to be done with its gradient."""

import torch


def mark(parameter: torch.nn.Parameter, **marks: bool) -> None:
    """Give it these attributes, which torch knows nothing of."""
    for name, value in marks.items():
        setattr(parameter, name, value)
