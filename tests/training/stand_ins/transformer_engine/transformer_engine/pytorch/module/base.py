import torch


def get_dummy_wgrad(shape, dtype, zero=False):
    return torch.zeros(shape, dtype=dtype)


class TransformerEngineBaseModule:
    """Named by Megatron's FSDP; not used."""
