"""The same work on many items, over processes."""

import threading
import time

import pytest

from common.parallel import run_parallel


def test_nothing_of_a_pool_lives_on_after_an_error() -> None:
    """As Python ends, it writes to the pipe of each pool that still lives, which may close at that moment."""

    def work(number: int) -> int:
        time.sleep(0.3 * (number % 2))
        return 1 // number

    before = threading.enumerate()
    with pytest.raises(ZeroDivisionError):
        list(run_parallel(work, range(8), 2, "dividing"))
    assert [thread for thread in threading.enumerate() if thread not in before] == []
