"""SLURM's jobs, as its own commands tell of them: submitted, found again, asked, ended."""

import dataclasses
import os
import re
import subprocess
from pathlib import Path

from common.errors import UserError
from elcano.slurm.batch_file import PREFERRED

_ENDED = "BOOT_FAIL CANCELLED COMPLETED DEADLINE FAILED NODE_FAIL OUT_OF_MEMORY PREEMPTED REVOKED TIMEOUT".split()
_NEVER_STARTS = (
    "AccountNotAllowed",
    "BadConstraints",
    "InvalidAccount",
    "InvalidQOS",
    "PartitionConfig",
    "PartitionNodeLimit",
    "PartitionTimeLimit",
    "QOSNotAllowed",
)
"""Reasons that waiting does not change."""
_ANSWER_S = 100
"""SLURM's commands wait themselves for a controller that is busy or has just been started again."""


@dataclasses.dataclass(frozen=True)
class JobState:
    """`name` and `reason` as SLURM spells them; `node` is empty until the job is placed."""

    name: str
    reason: str = ""
    exit_code: int = 0
    node: str = ""

    @property
    def ended(self) -> bool:
        return self.name in _ENDED

    @property
    def refused(self) -> bool:
        """It does not start, for a reason that waiting does not change."""
        return self.reason in _NEVER_STARTS

    def __str__(self) -> str:
        return f"{self.name} ({self.reason})" if self.reason else self.name


UNKNOWN = JobState("UNKNOWN", "SLURM does not answer")


def submit(file: Path, variables: dict[str, str]) -> str:
    """The job's id; it gets this process's variables and `variables`. `UserError` with SLURM's words when refused."""
    own = {name: value for name, value in os.environ.items() if name not in PREFERRED and not _of_a_job(name)}
    done = _said(["sbatch", "--parsable", str(file)], {**own, **variables})
    if done.returncode:
        raise UserError(f"SLURM refuses the job: {_complaint(done)} (file: {file})")
    return done.stdout.strip().split(";")[0]


def under_way(mark: str) -> dict[str, str]:
    """This user's jobs whose names end with `mark` and that have not ended: name to id."""
    done = _said(["squeue", "--me", "--noheader", "--format=%i %j"])
    if done.returncode:  # without this a job might run twice
        raise UserError(f"SLURM does not say which jobs there are: {_complaint(done)}")
    jobs = (line.strip().split(" ", 1) for line in done.stdout.splitlines())
    return {name: job for job, name in jobs if name.endswith(mark)}


def ask(job: str) -> JobState:
    """`UNKNOWN` while no controller answers; `UserError` for a job that SLURM has forgotten."""
    done = _said(["scontrol", "show", "job", "--oneliner", job])
    if done.returncode and "Invalid job id" in done.stderr:
        raise UserError(f"SLURM no longer knows job {job}, so how it ended is not known; the same command continues")
    if done.returncode:
        return UNKNOWN
    code, _, signal = _field("ExitCode", done.stdout).partition(":")
    reason, node = _field("Reason", done.stdout), _field("BatchHost", done.stdout)
    exit_code = int(code) or (128 + int(signal) if int(signal) else 0)
    return JobState(_field("JobState", done.stdout), "" if reason == "None" else reason, exit_code, node)


def ask_to_end(job: str) -> None:
    """SIGTERM to the command itself, as a terminal's `kill` does; one that has not begun is canceled."""
    _said(["scancel", "--state=PENDING", job])
    _said(["scancel", "--batch", "--signal=TERM", job])


def cancel(job: str) -> None:
    """SIGTERM to all processes of the job, and SIGKILL after the cluster's `KillWait`."""
    _said(["scancel", job])


def address(node: str) -> str:
    """By which SLURM reaches the node; empty: it knows no such node."""
    return _field("NodeAddr", _said(["scontrol", "show", "node", "--oneliner", node]).stdout)


def _said(words: list[str], environment: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """In a session of its own: Ctrl-C is for the run, which still has to speak to SLURM then."""
    try:
        return subprocess.run(
            words, capture_output=True, text=True, env=environment, timeout=_ANSWER_S, start_new_session=True
        )
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(words, 1, "", f"{words[0]} gave no answer within {_ANSWER_S} s")


def _of_a_job(variable: str) -> bool:
    """Whether it tells of the job that this run is itself."""
    in_job = "SLURM_JOB_ID" in os.environ
    return in_job and variable.startswith(("SLURM_", "SLURMD_")) and variable != "SLURM_CONF"


def _complaint(done: subprocess.CompletedProcess[str]) -> str:
    lines = [line.split("error: ", 1)[-1].strip() for line in done.stderr.splitlines() if line.strip()]
    return "; ".join(lines) or f"{done.args[0]} ended with code {done.returncode}"


def _field(name: str, line: str) -> str:
    found = re.search(rf"(?:^|\s){name}=(\S*)", line)
    return found[1] if found else ""
