"""Serve the embedded websites: python -m environments.sites --port 7070

They answer at http://shop.localhost:7070/, http://encyclopedia.localhost:7070/ and so on; http://localhost:7070/ lists
them. Every browser context starts from a fresh state.
"""

import dataclasses
import sys
from pathlib import Path
from runpy import run_path
from typing import Annotated

try:
    from common import cli
except ModuleNotFoundError as missing:  # not the python of the virtual environment
    sys.exit(run_path(str(Path(__file__).resolve().parents[2] / "common" / "not_installed.py"))["say"](missing))

from common.network.serving import serve_app
from common.options.limits import Checked, Port, at_least
from common.processes import listen
from data.task import SITES_PORT
from environments.sites.app import SITES, create_app
from environments.sites.content import build


@dataclasses.dataclass(frozen=True)
class Config(Checked):
    """Serve the embedded websites."""

    port: Port = SITES_PORT
    """Port to listen on; 0 picks a free one."""
    seed: int = 0
    """Seed of everything the sites show; the task files belong to 0."""
    delay_s: Annotated[float, at_least(0)] = 0.0
    """Seconds that each page takes to answer, as pages of the web do."""


def main(config: Config) -> None:
    """Serve until stopped."""
    listener = listen(config.port)
    app = create_app(build(config.seed), config.delay_s)
    port = listener.getsockname()[1]
    print(f"sites {', '.join(SITES)} on http://localhost:{port}/", flush=True)
    serve_app(app, listener)


if __name__ == "__main__":
    cli.run(Config, main, description=__doc__)
