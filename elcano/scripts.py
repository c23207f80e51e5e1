"""Console scripts: each is one of the rooms' commands, for installations without a clone (`elcano-collect --help`).

Nothing is imported here, so that a room's command needs no more packages than the room.
"""

import os
import sys
from collections.abc import Callable
from typing import NoReturn


def _command(module: str) -> Callable[[], NoReturn]:
    """`python -m module` with the words that were typed, in this process's place."""

    def start() -> NoReturn:
        os.execv(sys.executable, [sys.executable, "-m", module, *sys.argv[1:]])

    return start


collect = _command("collection.run")
explore = _command("collection.exploration_feedback")
pool = _command("collection.pool")
propose = _command("collection.propose_tasks")
evaluate = _command("collection.evaluation.auto_eval")
serve = _command("server.hf_online_server")
samples = _command("toolkits.convert_trajectories_to_json")
shards = _command("toolkits.convert_to_tar_data")
import_data = _command("toolkits.import_data")
convert = _command("toolkits.model_checkpoints_convertor.convert")
train = _command("training.launch.command")
score = _command("training.critics.score")
make_columns = _command("training.critics.make_columns")
feature_critic = _command("training.critics.feature_critic")
