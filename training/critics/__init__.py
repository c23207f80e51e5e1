"""What algorithms learn from besides samples: log-probabilities, values, features, columns of rewards.

Shards come in, Parquet columns go out. Read `score.py` first (log-probabilities and values), then `make_columns.py`.
"""
