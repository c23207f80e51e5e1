"""A SLURM cluster of two nodes on this machine, in a folder: the real daemons, ended with the block.

The first node has this machine's name, and all listen on the address of that name alone. SLURM believes each node to
have 8 cores, whatever there are.
"""

import contextlib
import os
import secrets
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

from common.processes import free_port

DAEMONS = ("munged", "slurmctld", "slurmd", "sbatch")
MISSING = [name for name in DAEMONS if not shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/usr/local/sbin")]
NODES = (socket.gethostname().split(".")[0], "second")
ADDRESS = socket.gethostbyname(socket.gethostname())
_CONF = """
ClusterName=elcano
SlurmctldHost={first}({address})
SlurmctldPort={port}
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
SlurmdParameters=config_overrides
SlurmdTimeout=20
KillWait=5
ReturnToService=2
{nodes}
PreemptType=preempt/partition_prio
PreemptMode=CANCEL
PartitionName=main Nodes=ALL Default=YES MaxTime=60 DefMemPerCPU=500 PriorityTier=1 State=UP
PartitionName=urgent Nodes=ALL DefMemPerCPU=500 PriorityTier=2 State=UP
"""


class Cluster:
    """Its commands find it by SLURM_CONF, which is set while it runs."""

    def __init__(self, folder: Path):
        self.folder = folder
        nodes = [
            f"NodeName={name} NodeHostname={NODES[0]} NodeAddr={ADDRESS} Port={free_port()} CPUs=8 RealMemory=8000"
            for name in NODES
        ]
        text = _CONF.format(first=NODES[0], address=ADDRESS, port=free_port(), folder=folder, nodes="\n".join(nodes))
        (folder / "slurm.conf").write_text(text)
        (folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")  # it is loaded, and nothing uses it
        (folder / "state").mkdir()
        self._processes: dict[str, subprocess.Popen] = {}

    def start(self) -> None:
        """`RuntimeError` with the daemons' words when the nodes are not up within a minute."""
        key = self.folder / "munge.key"
        key.write_bytes(secrets.token_bytes(128))
        key.chmod(0o400)
        munge = {name: self.folder / f"munge.{name}" for name in ("key", "socket", "pid", "log", "seed")}
        flags = {"key-file": "key", "socket": "socket", "pid-file": "pid", "log-file": "log", "seed-file": "seed"}
        options = [f"--{flag}={munge[name]}" for flag, name in flags.items()]
        self._spawn("munged", "--foreground", "--force", *options)
        while not munge["socket"].exists():
            time.sleep(0.1)
        self.start_controller()
        for node in NODES:
            self.start_node(node)
        deadline = time.monotonic() + 60
        while set(self.said("sinfo", "--noheader", "--Node", "--format=%T").split()) != {"idle"}:
            if time.monotonic() > deadline:
                logs = [path.read_text()[-2000:] for path in sorted(self.folder.glob("*.log"))]
                raise RuntimeError("\n".join(logs))
            time.sleep(0.5)

    def start_controller(self) -> None:
        self._spawn("slurmctld", "-D")

    def start_node(self, node: str) -> None:
        (self.folder / f"spool-{node}").mkdir(exist_ok=True)
        self._spawn("slurmd", "-D", "-N", node)

    def stop_controller(self) -> None:
        """As for an update: it keeps what it knows."""
        process = self._processes.pop("slurmctld")
        process.terminate()
        process.wait(30)

    def kill_node(self, node: str) -> None:
        """A power cut, with the node's jobs."""
        process = self._processes.pop(f"slurmd {node}")
        process.kill()
        process.wait()
        _kill_jobs(node, self.folder)

    def said(self, *words: str) -> str:
        """What a command of SLURM prints."""
        return subprocess.run(words, capture_output=True, text=True, timeout=60).stdout

    def stop(self) -> None:
        """All daemons and jobs."""
        self.said("scancel", "--me")
        deadline = time.monotonic() + 30
        while self.said("squeue", "--noheader") and time.monotonic() < deadline:
            time.sleep(0.5)
        for process in reversed(self._processes.values()):
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(10)
            process.kill()
            process.wait()
        for node in NODES:
            _kill_jobs(node, self.folder)

    def _spawn(self, *words: str) -> None:
        name = f"slurmd {words[-1]}" if words[0] == "slurmd" else words[0]
        path = shutil.which(words[0], path=f"{os.environ['PATH']}:/usr/sbin:/usr/local/sbin")
        with open(self.folder / f"{words[0]}.out", "a") as output:
            self._processes[name] = subprocess.Popen(
                [path, *words[1:]], stdout=output, stderr=subprocess.STDOUT, start_new_session=True
            )


@contextlib.contextmanager
def cluster(folder: Path) -> Iterator[Cluster]:
    """It runs while the block does."""
    started, before = Cluster(folder), os.environ.get("SLURM_CONF")
    os.environ["SLURM_CONF"] = str(folder / "slurm.conf")
    try:
        started.start()
        yield started
    finally:
        started.stop()
        os.environ.pop("SLURM_CONF")
        if before is not None:
            os.environ["SLURM_CONF"] = before


def _kill_jobs(node: str, folder: Path) -> None:
    """The processes of a node's jobs, told by their variables; SLURM's own that watch over them first, which would
    report how they ended."""
    inside = [process for process in psutil.process_iter() if _runs_on(process, node, folder)]
    watchers = [parent for process in inside if (parent := process.parent()) and parent.name() == "slurmstepd"]
    for process in [*watchers, *inside]:
        with contextlib.suppress(psutil.Error):
            process.kill()


def _runs_on(process: psutil.Process, node: str, folder: Path) -> bool:
    with contextlib.suppress(psutil.Error):
        variables = process.environ()
        return (variables.get("SLURMD_NODENAME"), variables.get("SLURM_CONF")) == (node, str(folder / "slurm.conf"))
    return False
