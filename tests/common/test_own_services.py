"""Services of our own, whose ports may be somebody else's by now."""

import time

import pytest

from common.network import own_services
from common.network.own_services import answer_of, is_up
from tests.adversary.unruly_servers import SERVERS, opening
from tests.answering import answering


@pytest.mark.parametrize("status, up", [(200, True), (204, True), (302, False), (404, False), (503, False)])
def test_success_alone_is_up(status: int, up: bool) -> None:
    with answering(lambda _: (status, "x")) as url:
        assert is_up(f"{url}/health", 5.0) is up
        assert answer_of(url, 5.0)[0] == status


def test_nobody_there_is_not_up() -> None:
    assert answer_of("http://127.0.0.1:9/", 1.0) is None and not is_up("http://127.0.0.1:9/", 1.0)


def test_an_address_without_a_host_answers_nothing() -> None:
    assert answer_of("http:///health", 1.0) is None


def test_what_others_answer_is_bounded() -> None:
    with opening() as open_one:
        for server in SERVERS:
            for seed in range(3):
                begin = time.monotonic()
                answer = answer_of(open_one(server.__name__, seed), 0.2)
                assert answer is None or len(answer[1]) <= own_services.MAX_BYTES, server
                assert time.monotonic() - begin < 5  # some would take for ever
