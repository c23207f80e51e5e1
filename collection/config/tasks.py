"""Which tasks are taken, how far, and where it all goes."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from common.options.limits import Checked, at_least, between


@dataclass(frozen=True, kw_only=True)
class TaskFlags(Checked):
    """What to collect."""

    test_file: Path | None = None
    """Tasks: a JSONL file with id, ques and web on each line."""
    env: str = "sites"
    """The world, a folder of environments/. `sites`: the tasks of --test_file, on any websites, or the embedded ones.
    `miniwob`: tasks and websites of MiniWoB++. `apps`: those of installed applications. `touch`: those of a phone in
    the browser. `android`: those of --test_file on devices. `webarena`: --test_file is one of WebArena's. A name with a
    dot, `mine.lift`: the `World` of that module of yours."""
    env_tasks: tuple[str, ...] = ()
    """Only these tasks of the world, by id; of `miniwob`, `apps` and `touch` by name, such as click-test or trac. None:
    all."""
    env_seeds: tuple[int, ...] = (0,)
    """`miniwob`, `apps`, `touch`: each of these tasks once with each of these seeds."""
    trouble: tuple[str, ...] = ()
    """`apps`: what goes wrong on the way to an application, such as delay=0.5 errors=0.1 expiry=1 popups=0.2 seed=3."""
    output_dir: Path = Path("results")
    """Where trajectories go. Run the same command again to go on where it stopped."""
    max_iter: Annotated[int, at_least(1)] = 5
    """Most steps of a trajectory."""
    max_fault_retries: Annotated[int, at_least(0)] = 1
    """How often a task that a fault ended (browser, network, website) is tried again in this run, after the others."""
    reset_command: str = ""
    """A command of yours that puts the websites back to their first state. It runs before collecting, also on a
    restart, and after each task that changed a shared backend, whose name it finds in BACKEND."""
    dry_run: bool = False
    """Only read the tasks, say what they are, what is odd about them and what would be refused; no browser, no model,
    no judge."""
    sites_port: Annotated[int, between(1, 65535)] | None = None
    """Port of the embedded websites (python -m environments.sites --port P), when it is not the task file's 7070."""
