"""Serve MiniWoB++'s pages: python -m environments.miniwob --port 7070"""

import dataclasses

from common import cli
from common.network.serving import serve_app
from common.options.limits import Checked, Port
from common.processes import listen
from data.task import SITES_PORT
from environments.miniwob.app import HOST, create_app


@dataclasses.dataclass(frozen=True)
class Config(Checked):
    """Serve MiniWoB++."""

    port: Port = SITES_PORT
    """Port to listen on; 0 picks a free one."""


def main(config: Config) -> None:
    """Serve until stopped."""
    listener = listen(config.port)
    app = create_app()
    print(f"miniwob on http://{HOST}:{listener.getsockname()[1]}/", flush=True)
    serve_app(app, listener)


if __name__ == "__main__":
    cli.run(Config, main, description=__doc__)
