"""The language model on megatron-core: its layers, its positions and what learns in it.

In come hidden states, out come the loss of each token, or a critic's values. Read `form.py` first (the model's
configuration as Megatron takes it), then `model.py`, `layers.py` and `attention.py`.
"""
