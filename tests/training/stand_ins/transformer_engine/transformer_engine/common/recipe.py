class DelayedScaling:
    """A base class of Megatron's; fp8 is not used."""
