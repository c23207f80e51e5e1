"""What became of each group: in memory, in the trainer's checkpoints, and in state/learned.jsonl for the collector.

A dropped group is told at once, since it frees its place. A learned one is told once the checkpoint that learned it is
complete. After a kill the checkpoint is what counts, and the file is made equal to it.
"""

import json
from pathlib import Path
from typing import Any

from common.files import write_atomic
from data.online_run import Fate


class Fates:
    """Of the first rank; the others hold none and write nothing."""

    def __init__(self, path: Path, writes: bool) -> None:
        self.path, self._writes = path, writes
        self.known: dict[int, tuple[int, Fate]] = {}
        self._told: set[int] = set()

    def __contains__(self, group: int) -> bool:
        return group in self.known

    def add(self, group: int, version: int, fate: Fate) -> None:
        """Remember it, while the weights are at `version`; a dropped one is also told."""
        self.known[group] = (version, fate)
        if fate != "learned":
            self._append([group])

    def tell(self) -> None:
        """Append what is not yet in the file."""
        self._append([group for group in self.known if group not in self._told])

    def save_state_rank(self) -> Any:
        """For a checkpoint."""
        return {"fates": [[group, version, fate] for group, (version, fate) in self.known.items()]}

    def restore_state_rank(self, state: Any) -> None:
        """From a checkpoint; the file becomes equal to it."""
        self.known = {group: (version, fate) for group, version, fate in state["fates"]}
        self.rewrite()

    def rewrite(self) -> None:
        """Make the file say what is known, and nothing else."""
        self._told = set(self.known)
        if self._writes:
            write_atomic(self.path, "".join(map(self._line, self.known)))

    def _append(self, groups: list[int]) -> None:
        self._told.update(groups)
        if self._writes and groups:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with open(self.path, "a") as file:
                file.write("".join(map(self._line, groups)))

    def _line(self, group: int) -> str:
        version, fate = self.known[group]
        return json.dumps({"group": group, "version": version, "fate": fate}) + "\n"
