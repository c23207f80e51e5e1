"""Where browsers run, how many there are, and how their windows are."""

from dataclasses import dataclass
from typing import Annotated

from common.options.limits import Checked, at_least


@dataclass(frozen=True, kw_only=True)
class BrowserFlags(Checked):
    """How the browsers run."""

    ray_address: str = ""
    """HOST:PORT of a Ray cluster, on one of whose nodes this runs: all of them take trajectories (docs/howto/nodes.md);
    local starts a Ray on this machine. Numbers of sessions, browsers and busy pages are those of each node. Empty: this
    machine alone, without Ray."""
    shared_output_dir: bool = False
    """All nodes see --output_dir and write there; otherwise trajectories are sent here over the network."""
    num_sessions: Annotated[int, at_least(1)] | None = None
    """Trajectories taken at the same time, each in a browser context of its own. Default: by cores and free memory."""
    num_browsers: Annotated[int, at_least(1)] | None = None
    """Browsers that share these sessions. Default: by sessions and cores."""
    max_busy_pages: Annotated[int, at_least(1)] | None = None
    """Pages that load, act or are observed at the same time; the others wait for the model. Default: 8 a core."""
    freeze_pages: bool = False
    """Stop a page's scripts and timers while the model thinks: animated pages cost no CPU, but they can tell."""
    headless: bool = False
    """Show no browser window."""
    window_width: Annotated[int, at_least(1)] = 1024
    """Viewport width in CSS pixels."""
    window_height: Annotated[int, at_least(1)] = 768
    """Viewport height in CSS pixels."""
    force_device_scale: bool = True
    """One device pixel per CSS pixel, whatever the screen; released models were trained so."""
