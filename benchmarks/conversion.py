"""Benchmarks of the converters, each with options of its own (`--help`).

python benchmarks/conversion.py checkpoints --work_dir DIR     # against a copy of the same bytes
python benchmarks/conversion.py data                           # against the published converters
"""

import runpy
import sys
from pathlib import Path

_PARTS = ("checkpoints", "data")

if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in _PARTS:
        sys.exit(f"error: say which: {' or '.join(_PARTS)}")
    script = Path(__file__).resolve().parent / f"conversion_{sys.argv.pop(1)}.py"
    sys.argv[0] = str(script)
    runpy.run_path(str(script), run_name="__main__")
