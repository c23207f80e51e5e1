"""Parquet files from strangers, read within bounded memory.

Read `parquet_file.py` first.
"""
