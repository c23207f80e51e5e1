"""The command behind train_idefics2.sh, train_llava.sh and train_llava_next.sh."""

import os
import sys

from common import cli
from models.registry import family
from training import demonstration, launch
from training.config import parse
from training.memory import config_folder
from training.published_variables import check_model_size, check_published, not_needed


def main(arguments: list[str]) -> int:
    """Check what only this command knows, then train; with nothing set, demonstrate."""
    model = os.environ.get("MODEL_TYPE") or "idefics2"
    demonstrates = not {"-h", "--help"} & set(arguments) and demonstration.is_wanted(model, arguments)
    if demonstrates:
        demonstration.prepare(arguments)
    config = parse(arguments)
    check_published(os.environ, config)
    if os.environ.get("MODEL_SIZE"):
        folder = config_folder(config.pretrain_checkpoint_path)
        check_model_size(os.environ, family(folder).read_config(folder))
    if remark := not_needed(os.environ):
        print(remark, file=sys.stderr)
    code = launch.main(config)
    if demonstrates and code == 0:
        demonstration.finish(config)
    return code


if __name__ == "__main__":
    sys.exit(cli.guarded(main, sys.argv[1:]))
