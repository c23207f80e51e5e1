"""What the commands take when they are given nothing: all of it comes with a clone of the repository."""

import shlex
from pathlib import Path

from common.errors import UserError

ROOT = Path(__file__).resolve().parent.parent
STARTING_POLICY = ROOT / "examples" / "quickstart" / "starting_policy" / "weights"
"""An idefics2 of 2.7 M parameters, in Hugging Face format."""
DEMONSTRATIONS = ROOT / "examples" / "quickstart" / "demonstrations" / "shards"
"""Shards of what the embedded teacher did, for that policy to imitate."""
TEST_TASKS = ROOT / "data" / "tasks" / "test.jsonl"
EXPLORATION_TASKS = ROOT / "data" / "tasks" / "optim-1.jsonl"


def shipped(path: Path, instead: str) -> Path:
    """`path`, or `UserError` where the repository's examples are not there; `instead` says what to give."""
    if not path.exists():
        raise UserError(f"{path}: this installation has no examples; {instead}")
    return path


def short(path: Path) -> str:
    """`path` as one would type it here: relative where that is shorter, quoted where a shell wants it."""
    try:
        return shlex.quote(str(path.relative_to(Path.cwd())))
    except ValueError:
        return shlex.quote(str(path))
