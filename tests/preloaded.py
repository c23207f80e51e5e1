"""What the programs of the tests import, imported once: `tests/forked.py` forks the process that has imported this."""

import warnings

from common.garbage import unsearched

warnings.simplefilter("ignore")

with unsearched():  # else the first search would copy what was imported into each fork
    from training.modules import kernels

    kernels.prepare()

    import tests.training.parity_reference  # noqa: F401
    import training.launch.command
    import training.launch.worker
    import training.logits
    import training.train  # noqa: F401
