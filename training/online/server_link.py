"""The policy's server is asked to take in each version, and again after it was away."""

import os
import time
from pathlib import Path
from urllib.parse import urljoin

import httpx

from common.network.bounded_http import BoundedClient
from data.online_run import OnlineRun

_ANSWER_S, _RELOAD_S = 10.0, 600.0
_LOOK_S = 5.0
"""Between looks whether the server still holds the newest version."""


class ServerLink:
    """To one server. It never ends the training: what fails is said, once."""

    def __init__(self, address: str, run: OnlineRun) -> None:
        self.address, self.run = address, run
        key = os.environ.get("ELCANO_API_KEY", "")
        headers = {"authorization": f"Bearer {key}"} if key else {}
        self._client = BoundedClient(timeout=_RELOAD_S, headers=headers, trust_env=False)
        self._looked_at, self._complaint = 0.0, ""

    def take_in(self, version: int) -> None:
        """Have the server hold `version`, the newest."""
        self._looked_at = time.monotonic()
        folder = self.run.version(version)
        try:
            held = self._client.get(urljoin(self.address, "health"), timeout=_ANSWER_S).json()["weights_version"]
            if self.run.version_of(str(held)) != version:
                self._reload(folder)
        except (httpx.HTTPError, ValueError, KeyError, TypeError) as error:
            self._complain(f"{self.address}: did not take in {folder} ({error or type(error).__name__})")
        else:
            if self._complaint:
                print(f"{self.address}: holds {folder} now", flush=True)
            self._complaint = ""

    def look(self, version: int) -> None:
        """`take_in` every few seconds."""
        if time.monotonic() - self._looked_at > _LOOK_S:
            self.take_in(version)

    def _reload(self, folder: Path) -> None:
        body = {"model_name_or_path": str(folder.absolute())}
        answer = self._client.post(urljoin(self.address, "reload"), json=body)
        if answer.status_code != 200:
            raise ValueError(f"HTTP {answer.status_code}: {answer.text[:300]}")

    def _complain(self, said: str) -> None:
        if said != self._complaint:
            print(said, flush=True)
        self._complaint = said
