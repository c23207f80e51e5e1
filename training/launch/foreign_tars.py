"""Tars that others made, as DATASET_PATH: the toolkit converts them once, before any rank starts."""

import subprocess
import sys
from pathlib import Path

from common.defaults import ROOT
from common.processes import die_with_parent
from common.terminal import printable
from data.foreign_tars import MadeOf, is_foreign, shards_of


def shards_to_read(folder: Path) -> Path:
    """`folder`, or the shards of the tars in it; says what was found in them.

    Raises:
        SystemExit: the toolkit has said what is wrong with them.
    """
    if not is_foreign(folder):
        return folder
    shards = shards_of(folder)
    if made_of := MadeOf.read(shards):
        print(printable(made_of.line(folder, shards)), flush=True)
        return shards
    command = [sys.executable, str(ROOT / "toolkits" / "convert_foreign_tars.py"), "--tar_dir", str(folder)]
    if code := subprocess.run(command, preexec_fn=die_with_parent).returncode:
        sys.exit(code)
    return shards
