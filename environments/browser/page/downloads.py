"""What a page downloads: which files come, which are there, and when it has had enough.

The browser writes each under an id of its own; when all of it is there it gets its name, or one beside it where that is
taken: pages give many files one name.
"""

import asyncio
import contextlib
import itertools
from pathlib import Path
from typing import Any

MAX_DOWNLOAD_MB = 50.0
MAX_DOWNLOADS = 100
"""Files of a trajectory: small ones would fill a disk's table of files before the limit on bytes."""
MAX_NAME = 200  # bytes of a file's name; file systems take 255
_TOO_MANY = "The page has downloaded too many files; further ones are cancelled."
_TOO_LARGE = "The download is larger than is allowed and was cancelled."


class Downloads:
    """The downloads of one page, fed with its DevTools events. `messages` says in sentences what became of them."""

    def __init__(self, folder: Path, max_mb: float):
        self._folder, self._most = folder, max_mb * 1e6
        self._received: dict[str, float] = {}
        self._coming: dict[str, str] = {}
        self._came: list[Path] = []
        self._num_begun = 0
        self._changed = asyncio.Event()
        self.messages: list[str] = []

    def take(self, method: str, params: dict[str, Any]) -> str:
        """One event. The id of the download that takes the page over a limit and must be cancelled, else ""."""
        if method == "Page.downloadWillBegin":
            self._num_begun += 1
            if self.are_too_many:
                if _TOO_MANY not in self.messages:
                    self.messages.append(_TOO_MANY)
                return params["guid"]
            self._coming[params["guid"]] = _fit(params["suggestedFilename"])
        elif method == "Page.downloadProgress":
            if params["state"] == "inProgress":
                return self._exceeded_by(params)
            self._received[params["guid"]] = params["receivedBytes"]
            self._end(params["guid"], params["state"] == "completed")
        return ""

    @property
    def are_too_many(self) -> bool:
        """Whether more began than a trajectory may have."""
        return self._num_begun > MAX_DOWNLOADS

    async def finish(self, timeout_s: float) -> list[Path]:
        """Wait for what is on its way, `timeout_s` at the longest; the files that came since last asked."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                while self._coming:
                    self._changed.clear()
                    await self._changed.wait()
        files, self._came = self._came, []
        return files

    def take_messages(self) -> list[str]:
        """What happened since last asked."""
        messages, self.messages = self.messages, []
        return [*messages, *(f"The file {name} is being downloaded." for name in self._coming.values())]

    def _exceeded_by(self, params: dict[str, Any]) -> str:
        download = params["guid"]
        announced = params["totalBytes"]  # 0 where the server does not say
        self._received[download] = max(params["receivedBytes"], announced)
        if sum(self._received.values()) <= self._most:
            return ""
        self._received[download] = params["receivedBytes"]
        self.messages.append(_TOO_LARGE)
        return download

    def _end(self, download: str, is_complete: bool) -> None:
        name = self._coming.pop(download, "")
        if name and is_complete and sum(self._received.values()) > self._most:  # it came faster than it was cancelled
            (self._folder / download).unlink(missing_ok=True)
            self._received[download] = 0.0
            if _TOO_LARGE not in self.messages:
                self.messages.append(_TOO_LARGE)
        elif name and is_complete and (file := self._named(download, name)):
            self._came.append(file)
            self.messages.append(f"The file {file.name} was downloaded.")
        elif name:
            self.messages.append(f"The file {name} could not be downloaded.")
        self._changed.set()

    def _named(self, download: str, name: str) -> Path | None:
        """The file under its name, or the first free one like it; None where it did not come."""
        stem, suffix = Path(name).stem, Path(name).suffix
        likes = itertools.chain([name], (f"{stem} ({number}){suffix}" for number in itertools.count(1)))
        file = next(self._folder / like for like in likes if not (self._folder / like).exists())
        try:
            return (self._folder / download).rename(file)
        except OSError:
            return None


def _fit(name: str) -> str:
    """A file's name that a folder takes, its ending kept."""
    file = Path(Path(name).name or "download")
    ending = file.suffix.encode()[:20]
    return (file.stem.encode()[: MAX_NAME - len(ending)] + ending).decode(errors="ignore")
