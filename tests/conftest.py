"""Shared by all tests: files in the field's formats, ours and released ones, and a child that is always reaped."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from socketserver import BaseServer

import pytest

from common.garbage import unsearched
from common.processes import die_with_parent, hold, reach_own_hosts_directly

ROOT = Path(__file__).resolve().parent.parent
reach_own_hosts_directly()
FIXTURES = ROOT.parent / "shared" / "fixtures" / "openwebvoyager"
SOURCES = ["ours", *(["released"] if FIXTURES.is_dir() else [])]
"""Files of our own making, and the released ones where they are at hand."""
ONE_SOURCE = [*(pytest.param(name, marks=pytest.mark.slow) for name in SOURCES[:-1]), SOURCES[-1]]
"""For a test that takes long: the released ones where they are at hand."""
LONGEST = (
    *("test_online", "test_kernels", "test_run", "test_train_script", "test_viewer_in_chromium", "test_killed_run"),
    *("test_prefix_reuse", "test_changes_in_chromium", "test_parity", "test_memory_by_rank", "test_dataset"),
    *("test_own_algorithm", "test_pool", "test_toy_mdp", "test_benchmarks", "test_feature_critic", "test_command"),
    *("test_checkpoint_conversion", "test_adapters", "test_original_llava", "test_make_columns", "test_qwen_vl"),
    *("test_gate", "test_miniwob_points", "test_popups", "test_another_family", "test_faults", "test_out_of_memory"),
)
"""The files that take longest, by `--junitxml`, begin first: one that begins last keeps one process busy and lets the
other wait."""


def pytest_configure() -> None:
    """Tests ask for the CPU and for as many ranks as they need, whatever GPUs this host has; bash tests/gpu.sh, which
    imports this file, too, is for those."""
    os.environ["CUDA_VISIBLE_DEVICES"] = ""


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Half of a process's objects are modules and tests, and stay."""
    with unsearched():
        return (yield)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the longest files in front; the order is otherwise as it was."""
    places = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.path.stem, len(places)))


def in_foreground() -> None:
    """A `preexec_fn`: as a terminal starts commands, also where tests run in the background, which ignores Ctrl-C."""
    die_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.fixture(scope="module", autouse=True)
def no_server_spins() -> Iterator[None]:
    """One that is closed and not shut down polls a closed socket without a pause, and every later test of this process
    waits for its thread."""
    yield
    loops = [target for thread in threading.enumerate() if (target := getattr(thread, "_target", None))]
    loops = [loop for loop in loops if getattr(loop, "__name__", "") == "serve_forever"]  # not those of connections
    assert not [loop for loop in loops if isinstance(loop.__self__, BaseServer) and loop.__self__.fileno() == -1]


@pytest.fixture(scope="session", params=SOURCES)
def field_files(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Trajectories, json, images, tar and tasks as in OpenWebVoyager's examples."""
    if request.param == "released":
        return FIXTURES
    from tests.field_files import write_field_files  # imported here, as below: most tests need none of it

    return write_field_files(tmp_path_factory.mktemp("field"))


@pytest.fixture(scope="session", params=SOURCES)
def field_processor(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The processor files of idefics2-8b."""
    if request.param == "released":
        return FIXTURES / "hf_processor"
    from tests.field_processor import write_processor

    return write_processor(tmp_path_factory.mktemp("processor") / "hf_processor")


@pytest.fixture
def dead_port() -> Iterator[int]:
    """Nobody answers there, and nobody else is given it."""
    with hold() as held:
        yield held.getsockname()[1]


@pytest.fixture
def spawn() -> Iterator[Callable[..., subprocess.Popen]]:
    """`spawn("script.py", "--flag")` starts a Python child, of this `python` or another, in a process group of its own,
    killed after the test."""
    children: list[subprocess.Popen] = []

    def start(*arguments: object, python: str | Path = sys.executable, **options: object) -> subprocess.Popen:
        command = [str(python), *map(str, arguments)]
        child = subprocess.Popen(command, cwd=ROOT, start_new_session=True, text=True, **options)
        children.append(child)
        return child

    yield start
    for child in children:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
