"""What a layout will need, by arithmetic: GPU and host memory for `--dry_run`.

Shapes of released models lie in `shapes/`. Read `per_gpu.py` first.
"""
