"""Flags of `elcano view`."""

from dataclasses import dataclass
from pathlib import Path

import tyro

from common.options.limits import Checked, Port
from common.options.switch import Switch


@dataclass(frozen=True)
class ViewConfig(Checked):
    """Look at runs and trajectories in a browser, while they are taken or afterwards."""

    runs: tyro.conf.Positional[tuple[Path, ...]] = (Path("runs"),)
    """Folders of runs or of trajectories, and reports that toolkits/inspect_data.py left as files."""
    port: Port = 8090
    """Port to listen on; 0 picks a free one."""
    host: str = "127.0.0.1"
    """Address to listen on. Who looks needs the token in the printed address."""
    export: Path | None = None
    """A folder to write the pages to, as files that need no server, instead of serving them."""
    gif: Switch = False
    """With --export: a GIF of each trajectory, too."""
