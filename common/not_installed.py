"""What a program says that was started by a Python without our packages.

Such a Python finds no module of ours, so programs read this file by its path:

    except ModuleNotFoundError as missing:
        sys.exit(run_path("<root>/common/not_installed.py")["say"](missing))
"""

import sys
from pathlib import Path

_ROOT = Path(__file__).resolve().parent.parent


def way_out() -> str:
    """What to type."""
    if not (_ROOT / "install.sh").exists():  # no clone, a wheel
        return "run: pip install with the extra of elcano that this command needs, such as 'elcano[serve]'"
    return f"run: bash {_ROOT}/install.sh && source {_ROOT}/.venv/bin/activate"


def say(missing: ModuleNotFoundError) -> int:
    """Print one line; the exit code."""
    print(f"error: {missing} in {sys.executable}; {way_out()}", file=sys.stderr)
    return 2
