"""The trainer that lives on: groups of rollouts come in, versions of the weights go out (docs/howto/online.md).

Read `loop.py` first. `feed.py` chooses and reads groups, `group.py` makes one learnable, `exactness.py` holds the
trainer's log-probabilities against the server's, `publish.py` writes weights.
"""
