"""What export_data.py writes: one format a file. Start with `formats.py`."""
