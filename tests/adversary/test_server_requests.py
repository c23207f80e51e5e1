"""What HTTP clients do to a server before it has read their request; without a model, since none is asked."""

import contextlib
import socket
import threading
import time
from collections.abc import Iterator

import fastapi
import pydantic
import pytest
import uvicorn

from common.processes import listen
from server import hf_online_server
from server.config import ServerConfig
from server.protocols import slow_clients
from server.protocols.openai.request import ChatRequest
from server.protocols.predict_protocol import PredictRequest

KEY = "s3cret"


def application() -> fastapi.FastAPI:
    app = fastapi.FastAPI()

    @app.get("/health")
    async def health() -> dict[str, str]:
        return {"status": "ok"}

    @app.post("/predict")
    async def predict(request: fastapi.Request) -> int:
        return len(await request.body())

    return app


@contextlib.contextmanager
def serving(server: uvicorn.Server, port_of: socket.socket) -> Iterator[int]:
    thread = threading.Thread(target=server.run, kwargs={"sockets": [port_of]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.02)
    yield port_of.getsockname()[1]
    server.should_exit = server.force_exit = True
    thread.join()


@pytest.fixture(params=["ours", pytest.param("plain uvicorn", marks=pytest.mark.slow)])
def server(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[int, bool]]:
    """(port, whether it is ours with its walls); without them, a server waits, which shows that the tests see it."""
    monkeypatch.setattr(slow_clients, "HEAD_TIMEOUT_S", 0.5)
    listener, app = listen(0), application()
    is_ours = request.param == "ours"
    if is_ours:
        config = ServerConfig(api_key=KEY, max_body_mib=1, request_timeout_s=1.0)
        made = hf_online_server.http_server(app, config)
    else:
        made = uvicorn.Server(uvicorn.Config(app, log_level="warning", timeout_keep_alive=75))
    with serving(made, listener) as port:
        yield port, is_ours


def connect(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=2)


def is_closed(client: socket.socket) -> bool:
    """Whether the server hung up; False when it still waits after two seconds."""
    try:
        while client.recv(65536):
            pass
    except TimeoutError:
        return False
    except ConnectionError:
        pass
    return True


HEAD = f"POST /predict HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {KEY}\r\n".encode()


@pytest.mark.parametrize("opening", [b"", b"GET /hea", b"GET /health HTTP/1.1\r\nHost: x\r\nX-Slow: "])
def test_a_head_that_never_ends_is_not_waited_for(server: tuple[int, bool], opening: bytes) -> None:
    port, is_ours = server
    with connect(port) as client:
        client.sendall(opening)
        for _ in range(4):  # a byte now and then
            with contextlib.suppress(OSError):
                client.sendall(b"x" if opening else b"")
            time.sleep(0.2)
        assert is_closed(client) is is_ours


def test_a_second_head_that_never_ends_is_not_waited_for_either(server: tuple[int, bool]) -> None:
    port, is_ours = server
    with connect(port) as client:
        client.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
        assert b"200" in client.recv(65536)
        client.sendall(b"GET /hea")
        assert is_closed(client) is is_ours


@pytest.mark.parametrize("length", [b"Content-Length: 100\r\n\r\n", b"Transfer-Encoding: chunked\r\n\r\n64\r\n"])
def test_a_body_that_never_ends_is_not_waited_for(server: tuple[int, bool], length: bytes) -> None:
    port, is_ours = server
    with connect(port) as client:
        client.sendall(HEAD + length)
        for _ in range(6):
            with contextlib.suppress(OSError):
                client.sendall(b"x")
            time.sleep(0.3)
        client.settimeout(3)
        try:
            answer = client.recv(65536)
        except TimeoutError:
            answer = b""
        assert (b" 408 " in answer) is is_ours


NONSENSE = {
    "two lengths": HEAD + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
    "length and chunks": HEAD + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "a length below nothing": HEAD + b"Content-Length: -5\r\n\r\n",
    "a length that is none": HEAD + b"Content-Length: five\r\n\r\n",
    "a length beyond all": HEAD + b"Content-Length: " + b"9" * 40 + b"\r\n\r\n",
    "a chunk of no size": HEAD + b"Transfer-Encoding: chunked\r\n\r\nxyz\r\n",
    "a chunk of a negative size": HEAD + b"Transfer-Encoding: chunked\r\n\r\n-5\r\n",
    "an encoding nobody knows": HEAD + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "a folded header": HEAD + b"X: a\r\n b\r\nContent-Length: 0\r\n\r\n",
    "a header without a name": HEAD + b": x\r\n\r\n",
    "a line feed in a header": HEAD + b"X: a\nTransfer-Encoding: chunked\r\n\r\n",
    "a null": HEAD + b"X: \0\r\n\r\n",
    "a megabyte of headers": HEAD + b"X: " + b"a" * 2**20 + b"\r\n\r\n",
    "100,000 headers": HEAD + b"X: a\r\n" * 100_000 + b"\r\n",
    "another protocol": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(500),
    "HTTP 2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "no version": b"GET /health\r\n\r\n",
    "an absolute address": b"GET http://other.example/health HTTP/1.1\r\nHost: x\r\n\r\n",
}


@pytest.mark.parametrize("server", ["ours"], indirect=True)
@pytest.mark.parametrize("kind", NONSENSE)
def test_nonsense_is_refused_and_the_next_request_answered(server: tuple[int, bool], kind: str) -> None:
    port, _ = server
    with connect(port) as client, contextlib.suppress(OSError):
        client.sendall(NONSENSE[kind])
        answer = client.recv(65536)
        assert not answer or not answer.startswith(b"HTTP/1.1 5"), answer
    with connect(port) as client:
        client.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
        assert b"200 OK" in client.recv(65536)


def test_two_requests_in_one_are_both_asked_for_the_key(server: tuple[int, bool]) -> None:
    """What hides behind the body of an open path meets the same wall as everything else."""
    port, is_ours = server
    with connect(port) as client:
        hidden = b"POST /predict HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}"
        client.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n" + hidden)
        answers = b""
        with contextlib.suppress(OSError):
            while data := client.recv(65536):
                answers += data
        assert answers.count(b"HTTP/1.1 200") == (1 if is_ours else 2)
        assert (b"HTTP/1.1 401" in answers) is is_ours


@pytest.mark.parametrize("is_ours", [True, False])
@pytest.mark.parametrize("origin", ["https://hostile.example", "null", "http://127.0.0.1:1"])
def test_a_page_in_the_users_own_browser_cannot_ask_a_server_without_a_key(is_ours: bool, origin: str) -> None:
    """Browsers send such a request unasked and say where it comes from; only the answer is kept from the page."""
    app, listener = application(), listen(0)
    made = hf_online_server.http_server(app, ServerConfig()) if is_ours else None
    with serving(made or uvicorn.Server(uvicorn.Config(app, log_level="warning")), listener) as port:
        for asking, status in ((origin, b"403" if is_ours else b"200"), (f"http://127.0.0.1:{port}", b"200")):
            with connect(port) as client:
                head = (
                    f"POST /predict HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nOrigin: {asking}\r\nContent-Length: 2\r\n\r\n"
                )
                client.sendall(head.encode() + b"{}")
                assert client.recv(65536).split(b" ")[1] == status


TEXT, SAID = {"type": "text", "text": "x"}, {"role": "user", "content": "x"}
MANY = 100_000
CROWDED = {
    "empty turns": (PredictRequest, {"conversations": [{}] * MANY}),
    "images that are numbers": (PredictRequest, {"conversations": [SAID], "images": [0] * MANY}),
    "images without number": (PredictRequest, {"conversations": [SAID], "images": [""] * MANY}),
    "empty messages": (ChatRequest, {"messages": [{}] * MANY}),
    "parts without number": (ChatRequest, {"messages": [{"role": "user", "content": [TEXT] * MANY}]}),
    "fields": (ChatRequest, {"messages": [SAID], **{str(number): 0 for number in range(MANY)}}),
    "fields of a part": (
        ChatRequest,
        {"messages": [{"role": "user", "content": [TEXT | {str(number): 0 for number in range(MANY)}]}]},
    ),
    "calls": (ChatRequest, {"messages": [{"role": "assistant", "tool_calls": [{}] * MANY}]}),
    "stops": (ChatRequest, {"messages": [SAID], "stop": [0] * MANY}),
}


@pytest.mark.parametrize("kind", CROWDED)
def test_a_body_of_very_many_pieces_is_refused_in_few_words(kind: str) -> None:
    """Four megabytes of them took the thread that answers everybody two minutes and 3.8 GB."""
    model, fields = CROWDED[kind]
    with pytest.raises(pydantic.ValidationError) as refusal:
        model.model_validate(fields)
    assert refusal.value.error_count() < 5
