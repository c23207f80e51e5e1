"""One rank of a training run, as torchrun starts it.

The heavy imports wait until `main`: checkpointing starts a helper process, which imports this file again.
"""

import sys
import warnings

from data.errors import UserError
from data.processes import die_with_parent
from training.config import parse
from training.models import cpu_adaptor


def main() -> None:
    """Train; a `UserError` is handed to the launcher, which prints it once, and becomes exit code 2."""
    die_with_parent()
    warnings.simplefilter("ignore")  # megatron-core and torch warn at length about what this run does not use
    cpu_adaptor.install()
    from training.train import train

    try:
        train(parse())
    except UserError as error:
        from torch.distributed.elastic.multiprocessing.errors import get_error_handler

        get_error_handler().record_exception(error)
        sys.exit(2)


if __name__ == "__main__":
    main()
