"""Tokens: what training reads at each step of a trajectory, piece by piece, with its loss mask and log-probabilities.

The trainer's own encoder makes them (`token_reader.py`), with the first policy of the run whose tokenizer says what was
sampled. It takes PyTorch and transformers, and files from elsewhere may keep those busy for ever: a process of its own
answers and ends.
"""

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from common.errors import UserError
from common.files import parse_json
from viewer.catalog.heads import as_object, read_object, shortened
from viewer.catalog.opened import OpenedRun, TrajectorySet
from viewer.catalog.reading import plain_folders

_PATIENCE_S = 180.0  # much for a busy machine: imports take most of it


def read_tokens(run: OpenedRun, one: TrajectorySet, folder: Path) -> dict[str, Any]:
    """JSON of `policy`, `loss` and `steps`: for each `pieces`, `repeats` of each (images), `mask`, and `columns` of
    numbers by name, one a piece (null where none is known); or its `problem`.

    Raises:
        UserError: no policy folder of the run has the tokenizer, or reading takes too long.
    """
    rounds = [one.path.parent, *plain_folders(run.path)]
    policies = [round / "policy" for round in dict.fromkeys(rounds) if _is_policy(round / "policy")]
    if not policies:
        raise UserError("no round here has a policy folder, whose tokenizer would tell them as words")
    asked = {
        "folder": str(folder),
        "policies": {str(policy): f"{policy.parent.name}/policy" for policy in policies},
        "options": _options(run, one.path.parent),
    }
    command = [sys.executable, "-m", "viewer.trajectory.token_reader"]
    try:
        done = subprocess.run(command, input=json.dumps(asked), capture_output=True, text=True, timeout=_PATIENCE_S)
    except subprocess.TimeoutExpired:
        raise UserError(f"the policy's processor took longer than {_PATIENCE_S:.0f} s") from None
    try:
        told = as_object(parse_json(done.stdout))
    except ValueError:
        last = (done.stderr.strip().splitlines() or [f"it ended with code {done.returncode}"])[-1]
        raise UserError(f"the policy's processor cannot be used: {shortened(last)}") from None
    if "problem" in told:
        raise UserError(told["problem"])
    return told


def _is_policy(folder: Path) -> bool:
    """A folder of plain files, none of which leads elsewhere or never ends."""
    try:
        with os.scandir(folder) as entries:
            kinds = {
                entry.name: entry.is_file(follow_symlinks=False) or entry.is_dir(follow_symlinks=False)
                for entry in entries
            }
    except OSError:
        return False
    return not folder.is_symlink() and "config.json" in kinds and all(kinds.values())


def _options(run: OpenedRun, round: Path) -> dict[str, Any]:
    """What the recipe of the opened run, or of the round's own, says of how samples are read in training."""
    recipe: dict[str, Any] = {}
    for folder in (run.path, round.parent):
        with contextlib.suppress(UserError):
            recipe = recipe or read_object(folder, "recipe.json") or {}
    rounds: list[Any] = recipe["rounds"] if isinstance(recipe.get("rounds"), list) else []
    own = next((found for found in map(as_object, rounds) if found.get("name") == round.name), {})
    given = as_object(own.get("training") or recipe.get("training"))
    return {name: given[name] for name in ("loss", "seq_len", "image_num") if name in given}
