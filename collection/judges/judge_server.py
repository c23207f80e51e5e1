"""The embedded stand-in for a judging model, behind the OpenAI protocol.

    python collection/judges/judge_server.py --port 7091

It answers POST /v1/chat/completions and GET /v1/models, for tasks on the embedded websites only. Any judge can be
given its address: --api_eval_model judge --eval_api_base http://127.0.0.1:7091/v1 --eval_trees 1
"""

import dataclasses
import functools

import uvicorn

from collection.endpoints.stand_in import create_app
from collection.judges.stand_in_judge import reply
from common import cli
from common.processes import listen

MODEL = "judge"


@dataclasses.dataclass(frozen=True)
class Config:
    """Serve the stand-in for a judging model."""

    port: int = 7091
    """Port to listen on; 0 picks a free one."""
    error_rate: float = 0.0
    """Share of the cases it judges wrongly."""
    fault_rate: float = 0.0
    """Share of the requests that meet an error, a rate limit, a stall or nonsense."""
    stall_s: float = 60.0
    """How long a stall lasts."""


def main(config: Config) -> None:
    """Serve until stopped."""
    listener = listen(config.port)
    print(f"judge on http://127.0.0.1:{listener.getsockname()[1]}/v1", flush=True)
    app = create_app(MODEL, functools.partial(reply, error_rate=config.error_rate), config.fault_rate, config.stall_s)
    uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False)).run(sockets=[listener])


if __name__ == "__main__":
    cli.run(Config, main, description=__doc__)
