"""What browsers may reach, and how hard they may press a website."""

from dataclasses import dataclass
from typing import Annotated

from common.options.limits import Checked, above, at_least


@dataclass(frozen=True, kw_only=True)
class NetworkFlags(Checked):
    """What the browsers may reach."""

    allow_hosts: tuple[str, ...] = ()
    """Only these hosts and their subdomains may be reached, and where tasks begin. None: any on the public internet."""
    deny_hosts: tuple[str, ...] = ()
    """These hosts and their subdomains may not be reached, whatever else is listed."""
    private_hosts: tuple[str, ...] = ()
    """`host:port` on this machine or a private network that may be reached. The embedded websites, and the addresses in
    WebArena's variables (SHOPPING, ...), need not be listed."""
    max_download_mb: Annotated[float, above(0)] = 50.0
    """Most that one trajectory may download; what goes beyond is cancelled."""
    site_concurrency: Annotated[int, at_least(0)] = 0
    """Most sessions on one website at the same time; 0 for any number."""
    site_interval_s: Annotated[float, at_least(0)] = 0.0
    """Least seconds between two actions on one website, over all sessions."""
