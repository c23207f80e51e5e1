"""Formats made for exchange: of trajectories (ATIF, ADP) and of samples (messages, LLaVA, Parquet, tars).

Read `conversation.py` first: what any of them says becomes a conversation of ours there.
"""
