"""The command behind train_online.sh: what can be known to fail is refused before any rank starts."""

import os
import sys

from common import cli
from common.errors import UserError
from common.files import make_folder, read_object
from common.garbage import unsearched
from common.processes import threads_each
from data.checkpoint_folder import IDENTITY_FILE, find_weights, is_critic, read_tracker

with unsearched():
    from models.registry import family
    from training.config import parse_with_environment
    from training.launch import torchrun
    from training.launch.command import set_published
    from training.launch.launch import check_model, check_sizes, ranks_of
    from training.loop.stop import EXIT_CODE
    from training.modules.trainable import check_adapters
    from training.online.columns import check_online
    from training.online.config import OnlineConfig

_PROGRAM = "train_online.sh"


def main(arguments: list[str]) -> int:
    """Check, then train under torchrun with this process's own flags and environment."""
    config = parse_with_environment(OnlineConfig, _PROGRAM, arguments)
    if not os.environ.get("MODEL_TYPE"):
        set_published(family(find_weights(config.pretrain_checkpoint_path)[1]))
        config = parse_with_environment(OnlineConfig, _PROGRAM, arguments)
    training = config.as_training()
    ranks = ranks_of(training)
    weights, _ = find_weights(config.pretrain_checkpoint_path)
    if is_critic(weights):
        raise UserError(f"{weights}: is a critic, not a policy; give the policy's checkpoint")
    check_model(training, training.hf_files)
    check_adapters(weights, training.trainable.lora)
    check_online(training.build_algorithm(), config.critic)
    check_sizes(training, ranks.per_host * config.host_num)
    _check_began(config)
    make_folder(config.run_dir / "trainer", "the folder of checkpoints")
    if ranks.note:
        print(ranks.note, flush=True)
    if config.max_lag:  # the server works beside it
        os.environ.setdefault("OMP_NUM_THREADS", threads_each(2 * ranks.per_host))
    hosts = torchrun.Hosts(config.host_num, config.index, config.chief_ip, config.master_port)
    code = torchrun.start("training.online.worker", ranks.per_host, hosts)
    latest = read_tracker(training.checkpoint_path)
    if code == 0 and not (config.num_versions and latest and int(latest) >= config.num_versions):
        print(f"{config.run_dir}: stopped at version {latest or 0}; the same command goes on")
        return EXIT_CODE
    return code


def _check_began(config: OnlineConfig) -> None:
    """`UserError` where the run's own checkpoints have another form of state."""
    training = config.as_training()
    if read_tracker(training.checkpoint_path) is None:
        return
    weights, _ = find_weights(training.checkpoint_path)
    began, now = read_object(weights / IDENTITY_FILE), config.identity(training)
    if changed := [name for name in now if began.get(name) != now[name]]:
        raise UserError(f"{weights}: began with another {', '.join(changed)}; go on with that, or take a new --run_dir")


if __name__ == "__main__":
    sys.exit(cli.guarded(main, sys.argv[1:]))
