"""One rank of a training run, as torchrun starts it.

The heavy imports wait until `main`, so that a process which only imports this file again stays light.
"""

from common.garbage import unsearched

with unsearched():
    from training.config import Config, parse
    from training.launch import torchrun
    from training.modules import kernels


def main(config: Config) -> None:
    """Train."""
    kernels.prepare(config.te)
    with unsearched():
        from training.train import train
    train(config)


if __name__ == "__main__":
    torchrun.run_rank(main, parse())
