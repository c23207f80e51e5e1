"""Collecting that lives on: groups of rollouts, as fast as browsers are free and the trainer keeps up."""
