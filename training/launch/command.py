"""The command behind train.sh, and behind train_idefics2.sh and its like, which name a family."""

import os
import sys

from common import cli
from common.errors import UserError
from common.garbage import unsearched

with unsearched():
    from models.family import Family
    from models.registry import NAMES, family, named
    from training.config import Config, parse
    from training.launch import demonstration, launch
    from training.launch.published_variables import check_model_size, check_published, not_needed
    from training.memory.per_gpu import config_folder


def main(arguments: list[str]) -> int:
    """Check what only this command knows, then train; with nothing set, demonstrate."""
    model = os.environ.get("MODEL_TYPE", "")
    if model:
        if model not in NAMES:
            raise UserError(f"MODEL_TYPE={model}: supported are {', '.join(NAMES)}")
        set_published(named(model))
    asks = bool({"-h", "--help"} & set(arguments))
    demonstrates = not asks and demonstration.is_wanted(model, arguments)
    if demonstrates:
        demonstration.prepare(arguments)
    config = parse(arguments)
    if not model:
        set_published(family_of_run(config))
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


def family_of_run(config: Config) -> Family:
    """That of the checkpoint."""
    return family(config_folder(config.pretrain_checkpoint_path) if config.dry_run else config.hf_files)


def set_published(kind: Family) -> None:
    """The family and its training's published values, for this process and the ranks; what is set already wins."""
    for name, value in {**kind.training, "MODEL_TYPE": kind.name}.items():
        os.environ[name] = os.environ.get(name) or value


if __name__ == "__main__":
    sys.exit(cli.guarded(main, sys.argv[1:]))
