"""The expert behind the OpenAI protocol: python environments/miniwob/expert/server.py --port 7093

It answers POST /v1/chat/completions and GET /v1/models, for tasks of MiniWoB++.
"""

import dataclasses
import sys
from pathlib import Path
from runpy import run_path

try:
    from common import cli
except ModuleNotFoundError as missing:  # not the python of the virtual environment
    sys.exit(run_path(str(Path(__file__).resolve().parents[3] / "common" / "not_installed.py"))["say"](missing))

from common.network.stand_in import create_app, serve
from common.options.limits import Checked, Port
from environments.miniwob.expert.expert import reply


@dataclasses.dataclass(frozen=True)
class Config(Checked):
    """Serve the expert of MiniWoB++."""

    host: str = "127.0.0.1"
    """Address to listen on."""
    port: Port = 7093
    """Port to listen on; 0 picks a free one."""


def main(config: Config) -> None:
    """Serve until stopped."""
    serve(create_app("expert", lambda messages, seed: reply(messages)), config.port, config.host)


if __name__ == "__main__":
    cli.run(Config, main, description=__doc__)
