"""The embedded stand-in for a proposing model, with the OpenAI protocol: python collection/proposers/proposer_server.py

It answers POST /v1/chat/completions and GET /v1/models for `collection/propose_tasks.py`, on the embedded sites only.
"""

import dataclasses

import uvicorn

from collection.endpoints.stand_in import create_app
from collection.proposers.stand_in_proposer import reply
from common import cli
from common.processes import listen

MODEL = "proposer"


@dataclasses.dataclass(frozen=True)
class Config:
    """Serve the stand-in for a proposing model."""

    port: int = 7092
    """Port to listen on; 0 picks a free one."""
    fault_rate: float = 0.0
    """Share of the requests that meet an error, a rate limit, a stall or nonsense."""
    stall_s: float = 60.0
    """How long a stall lasts."""


def main(config: Config) -> None:
    """Serve until stopped."""
    listener = listen(config.port)
    print(f"proposer on http://127.0.0.1:{listener.getsockname()[1]}/v1", flush=True)
    app = create_app(MODEL, reply, config.fault_rate, config.stall_s)
    uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False)).run(sockets=[listener])


if __name__ == "__main__":
    cli.run(Config, main, description=__doc__)
