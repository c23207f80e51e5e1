"""The tests' own server ends with the test that it answers, also with one that fails."""

import threading

import pytest

from tests.answering import answering


def test_it_ends_where_its_test_fails() -> None:
    """Else its thread asks a closed socket without a pause, and every later test of the process pays for that."""
    before = set(threading.enumerate())
    with pytest.raises(ZeroDivisionError), answering(lambda request: (200, None)):
        started = set(threading.enumerate()) - before
        raise ZeroDivisionError
    for thread in started:
        thread.join(10)
    assert started and not any(thread.is_alive() for thread in started)
