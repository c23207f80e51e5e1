"""The embedded stand-ins for a judging and a proposing model, behind the OpenAI protocol.

    python collection/stand_in.py --model judge --port 7091

They answer POST /v1/chat/completions and GET /v1/models, on the embedded websites only. Any judge can be given the
address: --api_eval_model judge --eval_api_base http://127.0.0.1:7091/v1 --eval_trees 1; so can
`collection/propose_tasks.py`.
"""

import dataclasses
import functools
from typing import Literal

from collection.judges import stand_in_judge
from collection.proposers import stand_in_proposer
from common import cli
from common.network.stand_in import create_app, serve
from common.options.limits import Checked, Port


@dataclasses.dataclass(frozen=True)
class Config(Checked):
    """Serve a stand-in for a model."""

    model: Literal["judge", "proposer"] = "judge"
    """What it stands in for."""
    port: Port = 7091
    """Port to listen on; 0 picks a free one."""
    error_rate: float = 0.0
    """Share of the cases that the judge judges wrongly."""
    fault_rate: float = 0.0
    """Share of the requests that meet an error, a rate limit, a stall or nonsense."""
    stall_s: float = 60.0
    """How long a stall lasts."""


def main(config: Config) -> None:
    """Serve until stopped."""
    judge = functools.partial(stand_in_judge.reply, error_rate=config.error_rate)
    reply = judge if config.model == "judge" else stand_in_proposer.reply
    serve(create_app(config.model, reply, config.fault_rate, config.stall_s), config.port)


if __name__ == "__main__":
    cli.run(Config, main, description=__doc__)
