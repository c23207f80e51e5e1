"""torchrun inside this process: ranks that are stopped politely and whose failure is one line."""

import contextlib
import dataclasses
import logging
import os
import signal
import socket
import sys
import warnings
from collections.abc import Callable, Sequence
from types import FrameType
from typing import TypeVar

import psutil
from torch.distributed.elastic.multiprocessing.api import SignalException
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError, get_error_handler
from torch.distributed.run import get_args_parser, run

from common.errors import UserError
from common.full_disk import full_disk_error
from common.garbage import unsearched_at_end
from common.processes import die_with_parent, threads_each
from training.loop.stop import heed_parent_alone

Config = TypeVar("Config")
_LAUNCHER = "ELCANO_LAUNCHER_PID"


@dataclasses.dataclass(frozen=True)
class Hosts:
    """`num` hosts, of which this is number `index`; they meet at `chief`:`port`."""

    num: int = 1
    index: int = 0
    chief: str = "localhost"
    port: int = 6501


def start(module: str, num_processes: int, hosts: Hosts, flags: Sequence[str] = ()) -> int:
    """Run `python -m module` with this process's own flags, and `flags`, which win, on every rank; returns the exit
    code.

    2 for a `UserError` of a rank, which is printed; 128 + the signal that ended all, such as Ctrl-C's; that of the rank
    that failed first otherwise.
    """
    os.environ["TQDM_DISABLE"] = "1"  # energon's bars
    os.environ.setdefault("OMP_NUM_THREADS", threads_each(num_processes))
    os.environ.setdefault("CUDA_DEVICE_MAX_CONNECTIONS", "1")  # the order in which Megatron overlaps its collectives
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    if hosts.num > 1 and (interface := _interface_towards(hosts.chief)):
        os.environ.setdefault("GLOO_SOCKET_IFNAME", interface)  # it would take what this host's own name stands for
    logging.getLogger("torch.distributed.elastic").setLevel(logging.CRITICAL)  # the failure is reported below
    os.environ[_LAUNCHER] = str(os.getpid())
    signal.signal(signal.SIGTERM, _pass_to_ranks)
    try:
        run(get_args_parser().parse_args([*_arguments(module, num_processes, hosts), *flags]))
    except ChildFailedError as error:
        return _report(error)
    except SignalException as stopped:
        print(f"stopped by {stopped.sigval.name}; what was saved is kept", file=sys.stderr)
        sys.unraisablehook = lambda unraisable: None  # torchrun leaves its heartbeat thread, which cannot join itself
        return 128 + stopped.sigval
    return 0


def _arguments(module: str, num_processes: int, hosts: Hosts) -> list[str]:
    if hosts.num == 1:
        rendezvous = ["--standalone"]
    else:
        rendezvous = [f"--nnodes={hosts.num}", f"--node-rank={hosts.index}"]
        rendezvous += [f"--master-addr={hosts.chief}", f"--master-port={hosts.port}"]
    rendezvous.append("--signals-to-handle=SIGINT,SIGHUP,SIGQUIT")  # SIGTERM is ours
    return [*rendezvous, f"--nproc-per-node={num_processes}", "-m", module, *sys.argv[1:]]


def _interface_towards(address: str) -> str:
    """The network interface by which this host reaches it, "" where none is known."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((address, 9))  # sends nothing
        own = probe.getsockname()[0]
        for name, addresses in psutil.net_if_addrs().items():
            if any(found.address == own for found in addresses):
                return name
    return ""


def _pass_to_ranks(signum: int, frame: FrameType | None) -> None:
    """SIGTERM: the ranks decide how to end; torchrun itself would kill them after 30 s."""
    for child in psutil.Process().children():
        with contextlib.suppress(psutil.NoSuchProcess):
            child.send_signal(signum)


def _report(error: ChildFailedError) -> int:
    """One line about the first failure; its exit code, or 128 + the signal that ended it."""
    rank, failure = error.get_first_failure()
    said = vars(failure)["message"]  # a dict, too, whatever torch annotates
    message = said["message"] if isinstance(said, dict) else said
    if failure.exitcode == 2:  # an error from a loader's process carries that process's traceback in front
        print(f"error: {message.strip().splitlines()[-1].split('UserError: ')[-1]}", file=sys.stderr)
        return 2
    print(f"error: rank {rank} failed with exit code {failure.exitcode}: {message}", file=sys.stderr)
    return failure.exitcode if failure.exitcode > 0 else 128 - failure.exitcode


def run_rank(main: Callable[[Config], object], config: Config) -> None:
    """The body of a rank's process; a `UserError` or a full disk is handed to the launcher, which prints it once, and
    becomes 2."""
    die_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # the launcher says it once
    if os.getppid() != int(os.environ.get(_LAUNCHER, os.getppid())):
        sys.exit(1)  # the launcher died before this rank could ask to die with it
    unsearched_at_end()
    for behave in (die_with_parent, heed_parent_alone):
        os.register_at_fork(after_in_child=behave)  # loaders and checkpoint writers
    warnings.simplefilter("ignore")  # megatron-core and torch warn at length about what this run does not use
    try:
        main(config)
    except Exception as error:
        told = error if isinstance(error, UserError) else full_disk_error(error)
        if told is None:
            raise
        get_error_handler().record_exception(told)
        sys.exit(2)
