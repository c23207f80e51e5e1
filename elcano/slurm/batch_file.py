"""The sbatch file of a command: what a person can read, change and submit by hand."""

import hashlib
import math
import os
import re
import shlex
from pathlib import Path

from common.defaults import ROOT
from common.errors import UserError
from elcano.executors.executor import ADDRESS, Command
from elcano.resources import Resources

_SIGNAL_S = 120
"""So long before a job's time is up it is asked to end: training saves a checkpoint."""
SETTINGS = {
    "partition": "SBATCH_PARTITION",
    "account": "SBATCH_ACCOUNT",
    "qos": "SBATCH_QOS",
    "time": "SBATCH_TIMELIMIT",
}
"""What a recipe leaves open, people set in SLURM's own variables."""
_ALWAYS = ("job-name", "output", "open-mode", "chdir", "export", "signal", "no-requeue", "requeue")
PREFERRED = {*SETTINGS.values(), *(f"SBATCH_{name.upper().replace('-', '_')}" for name in _ALWAYS), "SLURM_EXPORT_ENV"}
"""Variables that sbatch and srun would prefer to the file's own lines: `SBATCH_EXPORT=NONE` would keep the servers' key
from them."""
_OWN_ADDRESS = '$(scontrol show node --oneliner "$SLURMD_NODENAME" | sed "s/.* NodeAddr=\\([^ ]*\\) .*/\\1/")'
_MEET = [  # the batch step runs on the first node
    f"export CHIEF_IP={_OWN_ADDRESS}",
    "export HOST_NUM=$SLURM_NNODES MASTER_PORT=$((20000 + SLURM_JOB_ID % 12768))",
]
_CORES = "${SLURM_CPUS_PER_TASK:+--cpus-per-task=$SLURM_CPUS_PER_TASK}"  # srun takes one since SLURM 22.05
_ONE_EACH = f"srun --kill-on-bad-exit=1 {_CORES} bash -c 'INDEX=$SLURM_NODEID exec \"$@\"' bash"
_ASKED = "trap 'scancel --signal=TERM \"$SLURM_JOB_ID\"' TERM"  # srun answers SIGTERM by killing what it started
_UNTIL_ENDED = ["until wait $!; code=$?; ! kill -0 $! 2>/dev/null; do :; done", "exit $code"]


def job_name(log: Path) -> str:
    """The same for a command in each start of a run; what is logged in one folder has one ending, `mark`."""
    return f"{log.stem}-{log.parent.parent.name}-{mark(log)}"


def mark(log: Path) -> str:
    """Of all commands that log into this folder."""
    return f"elcano-{hashlib.sha256(str(log.parent.resolve()).encode()).hexdigest()[:12]}"


def batch_file(command: Command, resources: Resources, node: str = "") -> str:
    """Its text; `node` is the only one that will do."""
    lines = [
        f"#SBATCH --{name}" + (f"={_value(value)}" if value else "")
        for name, value in _options(command.log, resources.num_nodes).items()
    ]
    asked = {**_asked(resources), **({"nodelist": node} if node else {})}
    lines += [f"#SBATCH --{name}={_value(value)}" for name, value in asked.items()]
    limits = {"OMP_NUM_THREADS": str(resources.num_cores)} if resources.num_cores else {}
    variables = {**limits, **command.variables}
    lines += [f"export {name}={shlex.quote(value)}" for name, value in variables.items() if value]
    if empty := [f"{name}=" for name, value in variables.items() if not value]:
        lines.append(f"export {' '.join(empty)}")  # not what the person's own shell has
    if command.listens_on_node:  # in the file the address is a variable
        lines.append(f"{ADDRESS}={_OWN_ADDRESS}")
    words = " ".join(map(_quoted, command.words))
    if resources.num_nodes > 1:
        lines += [*_MEET, _ASKED, f"{_ONE_EACH} {words} &", *_UNTIL_ENDED]
    else:
        lines.append(f"exec {words}")
    return "#!/bin/bash\n" + "".join(f"{line}\n" for line in lines)


def _options(log: Path, num_nodes: int) -> dict[str, str]:
    output = str(log.resolve())
    if "\\" in output:  # SLURM itself reads them once more in the pattern of a file's name
        raise UserError(
            f"--executor slurm: SLURM writes no log below a folder with a backslash in its name ({output}); "
            f"give another --output_dir"
        )
    return {
        "job-name": job_name(log),
        "output": output.replace("%", "%%"),
        "open-mode": "append",
        "chdir": str(ROOT),
        "export": "ALL",
        "signal": f"B:TERM@{_SIGNAL_S}",
        "no-requeue": "",
        "nodes": str(num_nodes),
        "ntasks-per-node": "1",
    }


def _asked(resources: Resources) -> dict[str, str]:
    """What the recipe says, and what people set for what it leaves open."""
    recipe = {
        "cpus-per-task": resources.num_cores,
        "gpus-per-node": resources.num_gpus,
        "mem": f"{resources.memory_gib}G" if resources.memory_gib else "",
        "time": max(1, math.ceil(resources.time_h * 60)) if resources.time_h else 0,  # 0 would be no limit
        "partition": resources.partition,
    }
    own = {name: os.environ.get(variable, "") for name, variable in SETTINGS.items()}
    return {name: str(value) for name, value in {**own, **{k: v for k, v in recipe.items() if v}}.items() if value}


def _value(value: str) -> str:
    """As sbatch reads it, which knows quotes, backslashes and comments. `UserError` for what no line can hold."""
    if not value.isprintable():
        raise UserError(f"--executor slurm: no sbatch file can hold {value!r}; choose another name for it")
    if re.fullmatch(r"[\w/.:@%+,=-]*", value):
        return value
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _quoted(word: str) -> str:
    parts = [shlex.quote(part) if part else "" for part in word.split(ADDRESS)]
    return f'"${ADDRESS}"'.join(parts) or "''"
