"""SmolVLM2 on megatron-core."""
