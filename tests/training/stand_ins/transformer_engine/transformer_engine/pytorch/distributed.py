class CudaRNGStatesTracker:
    """A base class of Megatron's."""


def checkpoint(*_, **__):
    raise NotImplementedError("Megatron takes it for fp8 only")


activation_recompute_forward = get_all_rng_states = checkpoint
