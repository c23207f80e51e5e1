"""Shards: samples packed into tars that are written once, and what is thought of them in Parquet columns beside.

In come records with their images, out come folders that training reads. Read `shard.py` first, then `columns.py`.
`legacy` and `foreign_tars` are shards that others wrote, `mix_file` says which data are trained on together.
"""
