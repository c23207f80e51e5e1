"""Console scripts: each is one of the rooms' commands, for installations without a clone (`elcano-collect --help`).

Nothing of the rooms is imported here, so that a command needs no more packages than its room.
"""

import importlib.util
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

STARTED_AS = "ELCANO_STARTED_AS"
"""As common/options/command_line.py has it, which needs tyro."""
_NEEDS = {"collect": "selenium", "serve": "torch", "train": "megatron", "": "tyro"}
"""A package that each of pyproject.toml's extras brings."""


def _command(module: str, extra: str = "") -> Callable[[], NoReturn]:
    """`python -m module` with the words that were typed, in this process's place."""

    def start() -> NoReturn:
        if importlib.util.find_spec(_NEEDS[extra]) is None:
            print(f"error: {_NEEDS[extra]} is not installed; pip install 'elcano[{extra}]'", file=sys.stderr)
            sys.exit(2)
        named = {**os.environ, STARTED_AS: Path(sys.argv[0]).name}
        os.execve(sys.executable, [sys.executable, "-m", module, *sys.argv[1:]], named)

    return start


collect = _command("collection.run", "collect")
explore = _command("collection.exploration_feedback", "collect")
pool = _command("collection.pool", "collect")
propose = _command("collection.propose_tasks", "collect")
evaluate = _command("collection.evaluation.auto_eval", "collect")
serve = _command("server.hf_online_server", "serve")
samples = _command("toolkits.convert_trajectories_to_json")
shards = _command("toolkits.convert_to_tar_data")
export_data = _command("toolkits.export_data")
import_data = _command("toolkits.import_data")
convert = _command("toolkits.model_checkpoints_convertor.convert", "serve")
train = _command("training.launch.command", "train")
score = _command("training.critics.score", "train")
make_columns = _command("training.critics.make_columns", "train")
feature_critic = _command("training.critics.feature_critic", "train")
