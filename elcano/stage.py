"""Stage: one step of a voyage, run as commands, skipped when complete and resumed when it was killed."""

import contextlib
import os
import shlex
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console

from common.errors import UserError
from common.files import read_json, write_json
from common.processes import die_with_parent
from elcano.recipe import ROOT

console = Console(highlight=False)


class Logbook:
    """Which stages of a run are complete, and how long each took: `<run_dir>/stages/<name>.json`."""

    def __init__(self, run_dir: Path):
        self.folder = run_dir / "stages"
        self.folder.mkdir(parents=True, exist_ok=True)

    def seconds(self) -> dict[str, float]:
        """Seconds by stage, in the order they finished. A stage that was killed counts its last attempt only."""
        notes = [read_json(path) for path in self.folder.glob("*.json")]
        return {note["stage"]: note["seconds"] for note in sorted(notes, key=lambda note: note["finished_at"])}

    @contextlib.contextmanager
    def stage(self, name: str) -> Iterator[bool]:
        """`with logbook.stage(name) as needed: if needed: ...`; leaving it without an exception completes the stage."""
        path = self.folder / f"{name.replace('/', '.')}.json"
        if path.exists():
            console.print(f"[dim]✓ {name}: done before[/dim]")
            yield False
            return
        console.print(f"[bold]▶ {name}[/bold]")
        begin = time.monotonic()
        yield True
        seconds = round(time.monotonic() - begin, 1)
        os.sync()  # what the stage made survives a power cut if its mark does
        write_json(path, {"stage": name, "seconds": seconds, "finished_at": time.time()})
        console.print(f"[green]✓[/green] {name}: {seconds:.0f} s")


def run_command(command: list[str], log: Path, env: dict[str, str] | None = None) -> None:
    """Run a command a person could type from the repository's root; its output goes to `log`.

    Raises:
        UserError: the command failed; the line names the log and carries the command's own last words.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    typed = " ".join([f"{key}={shlex.quote(value)}" for key, value in (env or {}).items()] + [shlex.join(command)])
    console.print(f"  [dim]$ {typed}[/dim]\n  [dim]log: {log}[/dim]", soft_wrap=True)
    with open(log, "a") as file:
        file.write(f"$ {typed}\n")
        file.flush()
        process = subprocess.Popen(
            command,
            stdout=file,
            stderr=subprocess.STDOUT,
            cwd=ROOT,
            env={**os.environ, **(env or {})},
            preexec_fn=die_with_parent,
        )
        try:
            code = process.wait()
        except BaseException:
            process.send_signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(10)
            process.kill()
            raise
    if code:
        raise UserError(f"`{shlex.join(command[:3])} ...` ended with code {code}: {last_words(log)} (log: {log})")


def last_words(log: Path) -> str:
    """The last `error: ...` line of a log, else its last line that is not blank."""
    with open(log, errors="replace") as file:
        lines = [line.strip() for line in deque(file, maxlen=200) if line.strip()]
    errors = [line.removeprefix("error: ") for line in lines if line.startswith("error: ")]
    return (errors or lines or ["no output"])[-1]


def python(script: str, **flags: object) -> list[str]:
    """`python script --flag value ...`; True is a bare flag, None and False leave it out, a list repeats the value."""
    command = [sys.executable, script]
    for name, value in flags.items():
        if value is None or value is False:
            continue
        command.append(f"--{name}")
        if isinstance(value, (list, tuple)):
            command += [str(item) for item in value]
        elif value is not True:
            command.append(str(value))
    return command
