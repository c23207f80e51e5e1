"""What a folder is: a run's, and at what work; or something else, and which command tells more of it."""

import contextlib
import fcntl
import time
from collections.abc import Iterator
from pathlib import Path

from common import progress
from common.errors import UserError
from elcano.console import line

_KINDS = (
    ("latest_checkpointed_iteration.txt", "a Megatron checkpoint: bash {convertor} --load_path {folder} --inspect"),
    ("config.json", "a Hugging Face checkpoint: python server/hf_online_server.py --model_name_or_path {folder}"),
    ("manifest.json", "a folder of shards: python toolkits/inspect_data.py --data {folder}"),
    ("task*/steps.jsonl", "a folder of trajectories: python collection/run.py --status {folder}"),
)
HF2MG = "toolkits/model_checkpoints_convertor/hf2mg.sh"


def is_run(folder: Path) -> bool:
    """Whether `elcano run` has worked in it."""
    with contextlib.suppress(OSError):
        return (folder / "stages").is_dir() and (folder / "recipe.json").is_file()
    return False  # it may not be read


@contextlib.contextmanager
def working_in(run_dir: Path) -> Iterator[None]:
    """The folder is there, and no other command's while the block runs; `UserError` where it cannot be."""
    try:
        run_dir.mkdir(parents=True, exist_ok=True)
        lock = open(run_dir / ".lock", "w")  # noqa: SIM115, closed below
    except OSError as error:
        raise UserError(f"{run_dir}: {error.strerror}; give a folder that can be written as --output_dir") from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UserError(f"{run_dir}: another elcano run is working there; wait for it or stop it") from None
        yield


def at_work(run_dir: Path) -> str:
    """What a run that is under way says of its newest command; empty: nothing works there."""
    if not (run_dir / ".lock").exists():
        return ""
    with open(run_dir / ".lock") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return ""
        except BlockingIOError:
            done_at = max((path.stat().st_mtime for path in (run_dir / "stages").iterdir()), default=0.0)
    reports = {path.stat().st_mtime: path for path in run_dir.glob("*/logs/*.progress.json")}
    newest = max(reports, default=0.0)
    if newest <= done_at or not (found := progress.read(reports[newest])):
        return "what has not said anything yet"
    return f"{reports[newest].relative_to(run_dir)}: {line(found, time.time())}".replace(".progress.json", ".log", 1)


def describe_folder(folder: Path) -> str:
    """One line, with a command to copy where there is one."""
    if folder.is_file():
        return "it is a file"
    if not folder.is_dir():
        return "there is no such folder; give the --output_dir of a run"
    if kind := _kind(folder):
        return f"it is {kind}"
    for depth in ("*", "*/*"):
        for path in sorted(folder.glob(depth)):
            if is_run(path):
                return f"runs lie in it: elcano show {path}"
            if kind := _kind(path):
                return f"in it, {path.relative_to(folder)} is {kind}"
    return "nothing in it is of Elcano's making"


def _kind(folder: Path) -> str:
    """What it is and the command that tells more; empty: not known."""
    with contextlib.suppress(OSError):  # it may not be read
        for pattern, said in _KINDS:
            if next(folder.glob(pattern), None):
                return said.format(folder=folder, convertor=HF2MG)
    return ""
