"""How Chromium is run and what of its pages an agent is shown."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from data.observation import Mode, Visibility
from data.task import SITES_PORT, Task
from environments.browser.fleet import Fleet
from environments.browser.gate.url_policy import UrlPolicy
from environments.browser.page.downloads import MAX_DOWNLOAD_MB
from environments.browser.page.page import Viewport


@dataclass(frozen=True)
class BrowserConfig:
    """The hosts are those of `UrlPolicy`.

    Args:
        num_browsers: None: by sessions and cores.
        restart_url: where `Restart` leads; empty: to the task's start page.
        upload_dir: holds files for file inputs.
    """

    headless: bool = True
    num_browsers: int | None = None
    viewport: Viewport = field(default_factory=Viewport)
    visibility: Visibility = "released"
    observation: Mode = "tree"
    fix_box_color: bool = False
    restart_url: str = ""
    upload_dir: Path | None = None
    allow_hosts: tuple[str, ...] = ()
    deny_hosts: tuple[str, ...] = ()
    private_hosts: tuple[str, ...] = ()
    max_download_mb: float = MAX_DOWNLOAD_MB

    def fleet(self, num_sessions: int, flags: Sequence[str] = ()) -> Fleet:
        """Browsers for that many sessions, with further switches."""
        return Fleet(num_sessions, self.headless, self.viewport, self.num_browsers, flags, self.max_download_mb)

    def url_policy(
        self,
        tasks: Sequence[Task],
        private_hosts: Sequence[str] = (),
        port: int = SITES_PORT,
        other_sites: Sequence[str] = (),
    ) -> UrlPolicy:
        """What the browsers may reach; the world itself opens `private_hosts`, and `port` where its websites answer,
        `other_sites` among them."""
        private = (*self.private_hosts, *private_hosts)
        return UrlPolicy.of(tasks, self.allow_hosts, self.deny_hosts, private, port, other_sites)
