"""A rank that waits; test_interrupted.py stops it."""

import time

from training.launch import torchrun


def main(_: None) -> None:
    print("waiting", flush=True)
    time.sleep(100)


if __name__ == "__main__":
    torchrun.run_rank(main, None)
