"""What a run takes where it is not told: the embedded tasks with their websites, and browsers without a window."""

import contextlib
import dataclasses
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from collection.config.commands import CollectionConfig
from common.defaults import short
from common.processes import served
from data.task import SITES_PORT, Task, move_sites, read_tasks

Flags = TypeVar("Flags", bound=CollectionConfig)


@contextlib.contextmanager
def settled(
    config: Flags, embedded: Path, read: Callable[[Path], list[Task]] = read_tasks
) -> Iterator[tuple[Flags, Sequence[Task]]]:
    """The flags and the tasks of a run; one line on the standard error says what was not given.

    Without `--test_file`: the tasks in `embedded`, whose websites run until the block ends, unless `--sites_port` says
    where they run already; on port 7070 where it is free, since addresses stand in prompts and a run should repeat.
    Without a screen to show a browser on: `--headless`.
    """
    notes = []
    with contextlib.ExitStack() as stack:
        port = config.sites_port
        tasks = read(config.test_file or embedded)
        if config.test_file is None:
            notes.append(
                f"no --test_file: the {len(tasks)} embedded tasks of {short(embedded)} with their ground truth"
            )
            if port is None and not config.dry_run:
                port = stack.enter_context(served("environments.sites", SITES_PORT))
                notes.append(f"their websites on port {port} until the end")
        config, missing = without_display(config)
        notes += missing
        say(notes)
        yield dataclasses.replace(config, sites_port=port), move_sites(tasks, port)


def without_display(config: Flags) -> tuple[Flags, list[str]]:
    """`--headless` where there is no screen to show a browser on, and what to say of it."""
    if config.headless or config.dry_run or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"):
        return config, []
    return dataclasses.replace(config, headless=True), ["no display: browsers run as with --headless"]


def say(notes: list[str]) -> None:
    """All of it as one line on the standard error."""
    if notes:
        print("; ".join(notes), file=sys.stderr)
