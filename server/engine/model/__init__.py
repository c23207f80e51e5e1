"""A checkpoint as the engine computes it: conversations to token ids, token ids to logits.

Read `vision_language_model.py` first; `prompt.py` is how a conversation becomes its input.
"""
