"""What examples/openenv/ says where a package of others is missing."""

import subprocess
import sys

from tests.conftest import ROOT


def test_a_missing_package_is_told_in_one_line() -> None:
    script = ROOT / "examples" / "openenv" / "grpo_with_trl.py"
    without = f"import sys, runpy; sys.modules['datasets'] = None; runpy.run_path({str(script)!r}, run_name='__main__')"
    done = subprocess.run([sys.executable, "-c", without], capture_output=True, text=True)
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert done.stderr.endswith("run: pip install trl openenv\n")
