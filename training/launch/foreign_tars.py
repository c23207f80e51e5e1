"""Tars that others made, or a mix, as DATASET_PATH: the toolkit makes shards once, before any rank starts."""

import subprocess
import sys
from pathlib import Path

from common.defaults import ROOT
from common.processes import die_with_parent
from common.shown.terminal import printable
from data.shards.foreign_tars import MadeOf, is_foreign, shards_of
from data.shards.mix_file import SUFFIX, mix_digest, mix_of_shards, shards_of_mix


def shards_to_read(folder: Path) -> Path:
    """`folder`, or the shards of the tars in it or of the mix that it is; says what was found in them.

    Raises:
        SystemExit: the toolkit has said what is wrong with them.
    """
    if folder.suffix == SUFFIX and folder.is_file():
        shards = shards_of_mix(folder)
        if mix_of_shards(shards):
            print(printable(f"{folder}: a mix, SHA-256 {mix_digest(folder)}; read as {shards}"), flush=True)
        else:
            _run("mix_data.py", "--mix", str(folder))
        return shards
    if not is_foreign(folder):
        return folder
    shards = shards_of(folder)
    if made_of := MadeOf.read(shards):
        print(printable(made_of.line(folder, shards)), flush=True)
        return shards
    _run("convert_foreign_tars.py", "--tar_dir", str(folder))
    return shards


def _run(command: str, *arguments: str) -> None:
    words = [sys.executable, str(ROOT / "toolkits" / command), *arguments]
    if code := subprocess.run(words, preexec_fn=die_with_parent).returncode:
        sys.exit(code)
