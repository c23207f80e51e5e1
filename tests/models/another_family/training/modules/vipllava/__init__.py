"""ViP-LLaVA on megatron-core."""
