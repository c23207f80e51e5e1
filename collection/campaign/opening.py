"""The world of a run, made from its flags and served until the run ends; and browsers without a window."""

import asyncio
import contextlib
import dataclasses
import difflib
import os
import signal
import sys
from collections.abc import Coroutine, Iterator, Sequence, Set
from pathlib import Path
from typing import Any, TypeVar

from collection.campaign.options import browser_of, device_of
from collection.config.commands import CollectionConfig
from collection.config.devices import DeviceFlags
from common.errors import UserError
from common.ray_cluster.settings import prepare
from data.task import Task
from environments.browser.config import BrowserConfig
from environments.world import World, choose_settings, make_world

Flags = TypeVar("Flags", bound=CollectionConfig)

_OF_WORLDS = ("test_file", "sites_port", "env_seeds", "trouble", "reset_command")
_OF_WINDOWS = ("window_width", "window_height", "force_device_scale")
_OF_BROWSERS = (
    *(
        "num_browsers",
        "freeze_pages",
        "tree_visibility",
        "observation",
        "fix_box_color",
        "restart_action",
        "upload_dir",
    ),
    *("allow_hosts", "deny_hosts", "private_hosts", "max_download_mb"),
)


@contextlib.contextmanager
def opened(config: Flags, embedded_tasks: Path) -> Iterator[tuple[Flags, World, Sequence[Task]]]:
    """The flags, the world that they name and its tasks, served until the block ends but for a dry run.

    `embedded_tasks` are those without `--test_file`. One line on the standard error says what was not given. Without a
    screen to show a browser on: `--headless`.
    """
    config, notes = without_display(config)
    browser = browser_of(config)
    offered = {
        "browser": browser,
        "device": device_of(config),
        "reset_command": config.reset_command,
        "test_file": config.test_file,
        "embedded_tasks": embedded_tasks,
        "sites_port": config.sites_port,
        "kept_tasks": config.output_dir / f"{config.env}.jsonl",
        "env_tasks": config.env_tasks,
        "env_seeds": config.env_seeds,
        "trouble": config.trouble,
    }
    taken, given = choose_settings(config.env, offered), _given(config)
    _check_used(config.env, given, taken)
    world = make_world(config.env, **taken)
    _check_window(config.env, given, browser, getattr(world, "browser", None))
    with (
        _used_cluster("" if config.dry_run else config.ray_address),
        contextlib.nullcontext(world.note) if config.dry_run else world.serve() as note,
    ):
        tasks = asyncio.run(world.tasks())
        if "env_tasks" not in taken:
            tasks = _only(config.env_tasks, tasks)
        said = f"only the {len(tasks)} of --env_tasks" if config.env_tasks else ""
        say([note, said, *(notes if "browser" in taken else [])])
        yield config, world, tasks


@contextlib.contextmanager
def _used_cluster(address: str) -> Iterator[None]:
    """The one of this address, if there is one. Before there is an event loop, whose signals Ray would take over."""
    if not address:
        yield
        return
    said = f"--ray_address {address}"
    prepare(address, said)
    from common.ray_cluster import cluster  # only now: Ray reads its settings as it is imported

    cluster.join(address, said)
    try:
        yield
    finally:
        cluster.leave()


def _check_used(env: str, given: Set[str], taken: dict[str, Any]) -> None:
    """Raise UserError for a flag that was given and means nothing to this world."""
    without = [flag for flag in _OF_WORLDS if flag not in taken]
    without += [] if "device" in taken else [field.name for field in dataclasses.fields(DeviceFlags)]
    without += [] if "browser" in taken else [*_OF_BROWSERS, *_OF_WINDOWS]
    if useless := [flag for flag in without if flag in given]:
        raise UserError(f"--{useless[0]} means nothing to --env {env}; leave it out")


def _check_window(env: str, given: Set[str], asked: BrowserConfig, own: BrowserConfig | None) -> None:
    """Raise UserError for a flag of the window where the world's own is another."""
    useless = [flag for flag in _OF_WINDOWS if flag in given]
    if own is not None and own.viewport != asked.viewport and useless:
        size = f"{own.viewport.width} x {own.viewport.height}"
        raise UserError(f"--{useless[0]} means nothing to --env {env}, whose window is {size}; leave it out")


def _given(config: CollectionConfig) -> set[str]:
    """The flags that are not as they are by default; one without a default says nothing here."""
    return {name for name, value in vars(config).items() if value != getattr(type(config), name, value)}


def _only(ids: Sequence[str], tasks: Sequence[Task]) -> Sequence[Task]:
    """Those of `--env_tasks`, in its order, where the world leaves the choice to us."""
    known = {task.id: task for task in tasks}
    for name in ids:
        if name not in known:
            near = [*difflib.get_close_matches(name, known, 1), *known, "none"][0]
            raise UserError(f"--env_tasks {name}: none of the {len(known)} tasks has this id; the nearest is {near}")
    return [known[name] for name in dict.fromkeys(ids)] if ids else tasks


def without_display(config: Flags) -> tuple[Flags, list[str]]:
    """`--headless` where there is no screen to show a browser on, and what to say of it."""
    if config.headless or config.dry_run or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"):
        return config, []
    return dataclasses.replace(config, headless=True), ["no display: browsers run as with --headless"]


def run_until_stopped(work: Coroutine[Any, Any, None]) -> None:
    """`asyncio.run`, which a SIGTERM ends in the same good order as Ctrl-C, with exit code 143."""

    async def stoppable() -> None:
        this_task = asyncio.current_task()
        assert this_task is not None
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, this_task.cancel)
        await work

    try:
        asyncio.run(stoppable())
    except asyncio.CancelledError:
        sys.exit(128 + signal.SIGTERM)


def say(notes: list[str]) -> None:
    """All of it as one line on the standard error."""
    if any(notes):
        print("; ".join(filter(None, notes)), file=sys.stderr)
