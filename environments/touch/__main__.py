"""Serve the phone and the embedded websites that its browser opens: python -m environments.touch --port 7070

The phone of seed 3 begins at http://phone.localhost:7070/start/3. Every browser context has a phone of its own.
"""

import dataclasses
import sys
from pathlib import Path
from runpy import run_path

try:
    from common import cli
except ModuleNotFoundError as missing:  # not the python of the virtual environment
    sys.exit(run_path(str(Path(__file__).resolve().parents[2] / "common" / "not_installed.py"))["say"](missing))

from common.network.serving import serve_app
from common.options.limits import Checked, Port
from common.processes import listen
from data.task import SITES_PORT
from environments.touch.address import HOST
from environments.touch.app import create_app


@dataclasses.dataclass(frozen=True)
class Config(Checked):
    """Serve the phone."""

    port: Port = SITES_PORT
    """Port to listen on; 0 picks a free one."""


def main(config: Config) -> None:
    """Serve until stopped."""
    listener = listen(config.port)
    port = listener.getsockname()[1]
    app = create_app(port)
    print(f"a phone on http://{HOST}:{port}/", flush=True)
    serve_app(app, listener)


if __name__ == "__main__":
    cli.run(Config, main, description=__doc__)
