"""Python programs that begin at once, as forks of one process that has imported torch, transformers and Megatron.

Those imports take an interpreter four seconds, and as long again for every rank of a training. A test that asks what a
program computes runs it here. A test that asks how processes start, end or die starts them as users do.
"""

import contextlib
import multiprocessing
import os
import runpy
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from multiprocessing import forkserver
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess

import pytest

from common.processes import die_with_parent, hold
from tests import tiny
from tests.conftest import ROOT

_SERVER = multiprocessing.get_context("forkserver")
_SERVER.set_forkserver_preload(["tests.preloaded"])


def run_ranks(num_ranks: int, *words: object, timeout_s: float = 600) -> None:
    """Run `python *words` as torchrun would, on so many ranks; all must end with exit code 0."""
    with _ranks(num_ranks) as places:
        done = _run(places, [str(word) for word in words], timeout_s)
    assert done.returncode == 0, done.stdout


def run(words: Sequence[str], **_: object) -> subprocess.CompletedProcess[str]:
    """In place of `subprocess.run([sys.executable, ...])`, whatever else that is told."""
    return _run([{}], list(words[1:]), 300)


def run_command(module: str, flags: Mapping[str, object], exit_code: int = 0, **variables: object) -> str:
    """What a command that starts ranks, which are forks of its process, prints; it must end with `exit_code`."""
    words = [text for name, value in flags.items() for text in (f"--{name}", str(value))]
    done = _run([{name: str(value) for name, value in variables.items()}], ["-m", module, *words], 900)
    assert done.returncode == exit_code, done.stdout
    return done.stdout


@contextlib.contextmanager
def _ranks(num_ranks: int) -> Iterator[list[dict[str, str]]]:
    """The variables of each, as torchrun sets them; nobody else is given the port where they meet."""
    shared = {"WORLD_SIZE": num_ranks, "LOCAL_WORLD_SIZE": num_ranks, "MASTER_ADDR": "localhost"}
    with hold() as held:
        shared["MASTER_PORT"] = held.getsockname()[1]
        places = [{"RANK": rank, "LOCAL_RANK": rank, **shared} for rank in range(num_ranks)]
        yield [{name: str(value) for name, value in place.items()} for place in places]


def _run(places: list[dict[str, str]], words: list[str], timeout_s: float) -> subprocess.CompletedProcess[str]:
    """A process for each of the `places`, which are its variables; the first exit code but 0 ends the others."""
    with pytest.MonkeyPatch.context() as patch:  # of the process that is forked
        patch.setenv("PYTHONPATH", str(ROOT))
        patch.setenv("OMP_NUM_THREADS", "1")
        forkserver.ensure_running()
    with tempfile.NamedTemporaryFile("r", errors="replace") as output:
        each = [(words, tiny.environment(**place), output.name) for place in places]
        children = [_SERVER.Process(target=_become, args=arguments) for arguments in each]
        code = _together(children, timeout_s)
        said = output.read()
    return subprocess.CompletedProcess(words, code, said, said)


def _become(words: list[str], environment: dict[str, str], output: str) -> None:
    """Be the program from here on."""
    die_with_parent()
    assert "tests.preloaded" in sys.modules, "what the programs import was not imported before the fork"
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(ROOT)
    for descriptor in (1, 2):
        os.dup2(os.open(output, os.O_WRONLY | os.O_APPEND), descriptor)
    sys.modules["training.launch.torchrun"].start = _start_forks
    _execute(words)


def _execute(words: list[str]) -> None:
    if words[0] == "-m":
        sys.argv = words[1:]
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = words
        runpy.run_path(words[0], run_name="__main__")


def _start_forks(module: str, num_processes: int, hosts: object, flags: Sequence[str] = ()) -> int:
    """In place of `torchrun.start`: forks of this very process."""
    os.environ |= {"TOKENIZERS_PARALLELISM": "false", "TQDM_DISABLE": "1"}
    words = ["-m", module, *sys.argv[1:], *flags]
    fork = multiprocessing.get_context("fork")
    with _ranks(num_processes) as places:
        return _together([fork.Process(target=_be_rank, args=(words, place)) for place in places], 900)


def _be_rank(words: list[str], place: dict[str, str]) -> None:
    die_with_parent()
    os.environ.update(place)
    _execute(words)


def _together(children: Sequence[BaseProcess], timeout_s: float) -> int:
    """The first exit code but 0, which ends the others."""
    for child in children:
        child.start()
    try:
        running, code = {child.sentinel: child for child in children}, 0
        while running and not code:
            ended = wait(list(running), timeout_s)
            assert ended, f"did not end within {timeout_s} s"
            code = max((running.pop(one).exitcode or 0 for one in ended if isinstance(one, int)), key=abs)
    finally:
        for child in children:
            child.kill()
            child.join()
    return code
