"""What an optimizer step does: passes, loss, gradient, update, metrics.

Micro-batches come in, `StepMetrics` go out. Read `step.py` first, then `objective.py` and `optimization.py`.
"""
