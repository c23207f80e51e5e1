"""Sample files in, webdataset shards out: what the packing commands share.

Read `sample_records.py` first, then `shard_plan.py`.
"""
