"""A scripted expert behind the OpenAI protocol: POST /v1/chat/completions and GET /v1/models.

Each world's `expert/server.py` is this command with its own `reply` and its own port.
"""

import dataclasses

from common import cli
from common.network.stand_in import Reply, create_app, serve
from common.options.limits import Checked, Port


def run(reply: Reply, usual_port: int, description: str | None, name: str = "expert") -> None:
    """Read the command line, and serve `reply` until stopped. `name` is the model's."""

    @dataclasses.dataclass(frozen=True)
    class Config(Checked):
        """Serve the expert."""

        host: str = "127.0.0.1"
        """Address to listen on."""
        port: Port = usual_port
        """Port to listen on; 0 picks a free one."""

    def main(config: Config) -> None:
        serve(create_app(name, lambda messages, seed: reply(messages)), config.port, config.host)

    cli.run(Config, main, description=description)
