"""A tiny policy on disk, and the real server over it in a process of its own."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from server.engine.engine import Engine, EngineConfig
from server.engine.model.vision_language_model import LoadOptions, VisionLanguageModel
from tests import tiny
from tests.server.helpers import RunningServer, running_server


@pytest.fixture(scope="session")
def tiny_policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.build_decisive_policy(tmp_path_factory.mktemp("tiny") / "policy")


@pytest.fixture(scope="module")
def model(tiny_policy: Path) -> VisionLanguageModel:
    return VisionLanguageModel(tiny_policy, LoadOptions(device="cpu"))


@pytest.fixture(scope="module")
def engines(model: VisionLanguageModel) -> Iterator[tuple[Engine, Engine]]:
    """One that drafts, one that does not."""
    pair = tuple(Engine(model, EngineConfig(3, prefill_chunk=50, max_draft_tokens=number)) for number in (8, 0))
    yield pair  # type: ignore[misc]
    for engine in pair:
        engine.stop()


@pytest.fixture(scope="session")
def start_server() -> Iterator[Callable[..., RunningServer]]:
    """`start_server(folder, *flags)` -> a ready server on a free port; all are stopped in the end."""
    with contextlib.ExitStack() as stack:
        yield lambda folder, *flags: stack.enter_context(running_server(folder, *flags))


@pytest.fixture(scope="session")
def server(start_server: Callable[..., RunningServer], tiny_policy: Path) -> RunningServer:
    return start_server(tiny_policy, "--max_batch_size", "4", "--max_new_tokens", "24")
