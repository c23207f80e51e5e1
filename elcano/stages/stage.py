"""Stage: one step of a run, skipped when complete and resumed when it was killed."""

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from common.errors import UserError
from common.files import read_json, write_json
from elcano.console import console


class Logbook:
    """Which stages of a run are complete, and how long each took: `<run_dir>/stages/<name>.json`."""

    def __init__(self, run_dir: Path):
        self.folder = run_dir / "stages"
        self.folder.mkdir(parents=True, exist_ok=True)
        self._noted_s = 0.0  # of all stages that were left so far, those within others once

    def seconds(self) -> dict[str, float]:
        """Seconds by stage, in the order they finished. A stage that was killed counts its last attempt only."""
        return {note["stage"]: note["seconds"] for note in self._notes()}

    def finished_at(self) -> dict[str, float]:
        """When each stage finished, seconds since 1970."""
        return {note["stage"]: note["finished_at"] for note in self._notes()}

    def _notes(self) -> list[dict[str, Any]]:
        notes = [_note(path) for path in self.folder.glob("*.json")]
        return sorted(notes, key=lambda note: note["finished_at"])

    @contextlib.contextmanager
    def stage(self, name: str, extent: str = "") -> Iterator[bool]:
        """`with logbook.stage(name) as needed: if needed: ...`; leaving it without an exception completes the stage.

        What is complete to another `extent` is taken up again. The seconds of a stage leave out those of the stages
        within it.
        """
        path = self.folder / f"{name.replace('/', '.')}.json"
        if path.exists() and _note(path).get("extent", "") == extent:
            console.print(f"[dim]✓ {name}: done before[/dim]")
            yield False
            return
        console.print(f"[bold]▶ {name}[/bold]")
        begin, noted_s = time.monotonic(), self._noted_s
        yield True
        spent_s = time.monotonic() - begin
        seconds = round(spent_s - (self._noted_s - noted_s), 1)
        self._noted_s = noted_s + spent_s
        os.sync()  # what the stage made survives a power cut if its mark does
        note = {"stage": name, "seconds": seconds, "finished_at": time.time()}
        write_json(path, {**note, "extent": extent} if extent else note)
        more = " more" if seconds < round(spent_s, 1) else ""  # than the stages within it took
        console.print(f"[green]✓[/green] {name}: {seconds:.0f} s{more}")


def _note(path: Path) -> dict[str, Any]:
    """What a complete stage left; `UserError` where it is something else."""
    note = read_json(path)
    kinds = {"stage": str, "seconds": (int, float), "finished_at": (int, float)}
    if not (isinstance(note, dict) and all(isinstance(note.get(name), kind) for name, kind in kinds.items())):
        raise UserError(f"{path}: not the note of a complete stage; delete it, and elcano run does the stage again")
    return note
