"""The engine: many requests in one continuously changing batch.

In come token ids and images with their sampling options (`model/prompt.py` makes them), out come `Completion`s.
Read `engine.py` first, then `scheduler.py` (which tokens come next), `model_step.py` (what one pass makes of them) and
`replies.py` (what requests get of it).
"""
