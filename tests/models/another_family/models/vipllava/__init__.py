"""ViP-LLaVA: LLaVA with several layers' features and a norm before its connector."""
