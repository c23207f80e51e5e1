"""Servers that are slow, endless, packed, of wrong types, broken off or elsewhere, against every client of HTTP."""

import asyncio
import contextlib
import gzip
import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import httpx
import pytest

from collection.agent.chat_policy import ChatPolicy
from collection.agent.documents import DocumentReader
from collection.agent.policy import PolicyError, Sampling, UnansweredError
from collection.agent.predict_policy import PredictPolicy
from collection.config.endpoint import Prompt
from collection.judges.endpoint.endpoint import Endpoint
from collection.judges.endpoint.ledger import Budget, Ledger
from collection.judges.endpoint.reply_cache import ReplyCache
from common.network.bounded_http import MAX_ANSWER_BYTES, AnswerTooLargeError, BoundedAsyncClient, BoundedClient
from common.shown.terminal import in_short
from data.conversation import StepText
from data.task import Task
from environments.faults import PageError
from environments.webarena import magento
from tests.adversary.http_clients import CLIENTS
from tests.adversary.unruly_servers import SERVERS, opening
from tests.answering import Request, answering

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("num_draws", "timeout_s"),
    [(24, 0.2), pytest.param(800, 1.0, marks=[pytest.mark.slow, pytest.mark.timeout(3000)])],
)
def test_a_client_ends_in_one_line_of_its_own_in_time_and_without_memory(
    tmp_path: Path, num_draws: int, timeout_s: float
) -> None:
    file = tmp_path / "found.json"
    flags = ["--num_draws", str(num_draws), "--timeout_s", str(timeout_s), "--json_file", str(file)]
    done = subprocess.run(
        [sys.executable, "-m", "tests.adversary.http_clients", *flags], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(file.read_text())
    drawn = {(one["client"], one["server"]) for one in found["outcomes"]}
    assert len(drawn) == min(num_draws, len(CLIENTS) * len(SERVERS))
    assert found["most_mib"] < 300


def test_the_time_out_is_of_the_whole_answer_for_threads_too() -> None:
    with opening() as open_one, BoundedClient(timeout=0.5, trust_env=False) as client:
        begin = time.monotonic()
        with pytest.raises(httpx.ReadTimeout, match=r"no whole answer within 0\.5 s"):
            client.get(open_one("slow", 3))
        assert time.monotonic() - begin < 5  # the whole would take ten minutes


def test_an_honest_packed_answer_is_read() -> None:
    """Some gateways pack answers though nobody asked."""
    with opening() as open_one, BoundedClient(timeout=5, trust_env=False) as client:
        answer = client.get(open_one("honest", 0))
    assert answer.json() == {"text": "x"} and "content-encoding" not in answer.headers


def test_more_behind_a_packed_answer_is_refused_at_once() -> None:
    """It was kept, and copied with each piece: four seconds in which no other session went on."""
    packed = gzip.compress(b"{}")
    piece = b"%x\r\n%b\r\n" % (len(packed), packed)
    head = b"HTTP/1.1 200 X\r\ncontent-encoding: gzip\r\ntransfer-encoding: chunked\r\n\r\n"
    with sending(head + piece * 20_000) as url, BoundedClient(timeout=20, trust_env=False) as client:
        begin = time.process_time()
        with pytest.raises(httpx.DecodingError, match="more behind its end"):
            client.get(url)
        assert time.process_time() - begin < 1


@contextlib.contextmanager
def sending(answer: bytes) -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def send() -> None:
            with contextlib.suppress(OSError), listener.accept()[0] as client:
                client.recv(65536)
                client.sendall(answer)

        threading.Thread(target=send, daemon=True).start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


@pytest.mark.parametrize("piece", ["<", "<a", "<script ", "</script "])
def test_words_of_a_server_are_shortened_at_once(piece: str) -> None:
    """An answer of one mebibyte held up all sessions for minutes, whatever its client's time-out."""
    begin = time.process_time()
    assert len(in_short(piece * (1_000_000 // len(piece)))) <= 200
    assert time.process_time() - begin < 2


@pytest.mark.parametrize("content", [7, True, ["a"], {"a": 1}, "\ud800"])
def test_what_a_reader_of_documents_says_is_a_text_or_nothing(content: object) -> None:
    answer = {"choices": [{"message": {"content": content}}]}
    with answering(lambda _: (200, answer)) as url:
        assert asyncio.run(DocumentReader("m", "none", f"{url}/v1")._ask("text", "question")) == ""


@pytest.mark.parametrize(
    "orders", [[{"increment_id": value}] for value in (True, 1.5, float("inf"), None, [], "-1", "1/../..")]
)
def test_a_shop_that_says_no_number_gave_no_answer(monkeypatch: pytest.MonkeyPatch, orders: list[object]) -> None:
    def answer(request: Request) -> tuple[int, object]:
        return 200, "token" if request.method == "POST" else {"items": orders}

    monkeypatch.setenv(magento.LOGIN, "a:b")
    with answering(answer) as url, pytest.raises(PageError, match="the shop's API gave no answer to orders"):
        monkeypatch.setenv(magento.ADDRESS, url)
        asyncio.run(magento.latest_order_url())


def test_a_large_answer_is_refused_while_it_comes() -> None:
    with (
        answering(lambda _: (200, "x" * (MAX_ANSWER_BYTES + 1))) as url,
        BoundedClient(trust_env=False) as client,
        pytest.raises(AnswerTooLargeError, match="more than 1048576 bytes"),
    ):
        client.get(url)


@pytest.mark.parametrize("text", [None, 7, ["a"], {"a": 1}, True])
def test_what_is_no_text_is_a_fault_of_the_server(text: object) -> None:
    with pytest.raises(PolicyError, match=r"its text is .* which is no str"):
        reply_of({"text": text})


def test_half_a_surrogate_pair_of_a_judge_is_kept_as_a_question_mark(tmp_path: Path) -> None:
    """It is no text that a file can hold."""
    answer = {"choices": [{"message": {"content": "a\ud800b"}}]}
    with answering(lambda _: (200, answer)) as url:
        endpoint = Endpoint("m", "none", f"{url}/v1", ReplyCache(tmp_path), Ledger(tmp_path / "costs", Budget()))
        assert endpoint.ask([{"role": "user", "content": "x"}], lambda text: text).text == "a?b"


@pytest.mark.parametrize(
    "fields", [{"token_ids": ["a"]}, {"prompt_tokens": "9"}, {"weights_version": 3}, {"sampling_logprobs": [None]}]
)
def test_other_fields_of_wrong_types_are_faults_of_the_server(fields: dict[str, object]) -> None:
    with pytest.raises(PolicyError, match=next(iter(fields)).removeprefix("sampling_")):
        reply_of({"text": "x", **fields})


def test_a_reply_much_longer_than_what_was_asked_for_is_none() -> None:
    with pytest.raises(PolicyError, match="a text of 500000 characters, though 256 tokens were asked for"):
        reply_of({"text": "x" * 500_000})


def test_nothing_but_numbers_is_kept_of_what_a_server_says_of_its_sampling() -> None:
    said = {"temperature": 0.5, "top_k": None, "note": "x" * 100_000, "nested": {"a": 1}}
    assert reply_of({"text": "x", "sampling": said}).sampling == {
        "max_new_tokens": 256, "temperature": 0.5, "top_k": None
    }  # fmt: skip


def test_a_server_whose_time_runs_out_is_not_waited_for_six_times(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("collection.agent.policy.REPLY_TIMEOUT_S", 1.0)
    asked = []

    def answer(request: object) -> tuple[int, object]:
        asked.append(request)
        time.sleep(1.5)
        return 200, {"text": "x"}

    with answering(answer) as url, pytest.raises(UnansweredError, match=r"no whole answer within 1 s"):
        ask(f"{url}/predict")
    assert len(asked) == 2


def test_a_server_that_fails_late_each_time_is_not_waited_for_six_times(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("collection.agent.policy.REPLY_TIMEOUT_S", 2.0)
    monkeypatch.setattr("common.network.retry.FIRST_PAUSE_S", 0.01)
    asked = []

    def answer(request: object) -> tuple[int, object]:
        asked.append(request)
        time.sleep(1.2)
        return 503, {}

    with answering(answer) as url, pytest.raises(UnansweredError, match="HTTP 503"):
        ask(f"{url}/predict")
    assert 2 <= len(asked) <= 3  # 2.4 or 3.6 of at most 5 s


def test_cookies_are_not_collected() -> None:
    """A server may set new ones with each answer, which would go back to it with every request of a run."""

    async def heads(url: str) -> list[int]:
        async with BoundedAsyncClient(timeout=30, trust_env=False) as client:
            return [len(str((await client.get(url)).request.headers)) for _ in range(5)]

    with opening() as open_one:
        [first, *others] = asyncio.run(heads(open_one("of_cookies", 0)))
    assert set(others) == {first}


@pytest.mark.parametrize("policy", get_args(Prompt))
def test_an_answer_of_very_many_choices_holds_up_no_other_session(policy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The openai package takes seconds to look at them, in which no browser is spoken to."""
    monkeypatch.setattr("common.network.retry.FIRST_PAUSE_S", 0.01)

    def seconds(num_choices: int, said: str) -> float:
        answer = {"choices": [{"message": {}}] * num_choices}
        with answering(lambda _: (200, answer)) as url, pytest.raises(PolicyError, match=said):
            begin = time.process_time()
            asyncio.run(_reply(ChatPolicy("m", "none", f"{url}/v1", Sampling(prompt=policy))))
        return time.process_time() - begin

    seconds(1, "which is no str")  # imports
    assert seconds(20_000, "40002 objects and lists") < 2


def reply_of(answer: dict[str, object]) -> object:
    with answering(lambda _: (200, answer)) as url:
        return ask(f"{url}/predict")


def ask(url: str) -> object:
    return asyncio.run(_reply(PredictPolicy([url], Sampling(max_new_tokens=256))))


async def _reply(policy: PredictPolicy | ChatPolicy) -> object:
    try:
        task = Task(id="T--1", ques="x", web="http://127.0.0.1/")
        return await policy.reply(task, "taskT--1", [StepText("[1] link")], {1: ""}, None)
    finally:
        await policy.close()
