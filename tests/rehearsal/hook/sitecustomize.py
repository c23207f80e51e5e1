"""Python runs this at its start where this folder is on PYTHONPATH: ranks then count the bytes of their tensors."""

import os

if "LOCAL_RANK" in os.environ and "LIVE_TENSORS" in os.environ:
    from tests.rehearsal import live_tensors

    live_tensors.install(os.environ["LIVE_TENSORS"], os.environ["RANK"])
