"""One rank of a trainer that lives on, as torchrun starts it; heavy imports wait until `main`."""

from common.garbage import unsearched

with unsearched():
    from training.config import parse_with_environment
    from training.launch import torchrun
    from training.modules import kernels
    from training.online.config import OnlineConfig


def main(config: OnlineConfig) -> None:
    """Train."""
    kernels.prepare(config.te)
    with unsearched():
        from training.online.loop import train_online
    train_online(config)


if __name__ == "__main__":
    torchrun.run_rank(main, parse_with_environment(OnlineConfig, "train_online.sh"))
