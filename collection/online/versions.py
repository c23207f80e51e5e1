"""Which version of the weights the servers hold, and what became of the groups: all that the trainer tells the pool."""

import contextlib
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from collection.agent.policy import Policy
from common.errors import UserError
from data.online_run import OnlineRun, read_fates


@dataclass
class Versions:
    """Call `look` from time to time. `published` is the newest in the run's folder; `held` is the lowest of those that
    the servers hold, at which a group begins: as they say, else the newest."""

    run: OnlineRun
    policy: Policy
    published: int = 0
    held: int = 0
    fates: Counter[str] = field(default_factory=Counter)
    _is_said: bool = False
    _fates_read: Any = None

    @property
    def dropped(self) -> int:
        """Groups that were not learned from."""
        return self.fates.total() - self.fates["learned"]

    async def look(self) -> None:
        """Look again. `UserError` where a server holds no version of this run."""
        self.published = self.run.newest_version()
        ask: Callable[[], Awaitable[set[str]]] | None = getattr(self.policy, "weights_versions", None)
        said = await ask() - {""} if ask else set()  # "": it does not answer now, or never says
        if said:
            self.held, self._is_said = min(map(self._number, said)), True
        elif not self._is_said:
            self.held = self.published
        self._read_fates()

    def _number(self, name: str) -> int:
        number = self.run.version_of(name)
        if number is None:
            raise UserError(
                f"the model server holds {name}, which is no version in {self.run.weights}; "
                f"start it with --model_name_or_path {self.run.version(self.published)}"
            )
        return number

    def _read_fates(self) -> None:
        with contextlib.suppress(FileNotFoundError):
            now = self.run.learned.stat()
            mark = (now.st_ino, now.st_size, now.st_mtime_ns)
            if mark != self._fates_read:
                self.fates, self._fates_read = Counter(read_fates(self.run.learned).values()), mark
