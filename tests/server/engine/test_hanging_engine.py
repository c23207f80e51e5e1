"""Deadlines hold whatever happens to the engine, a lack of memory is told as 503, and /health says what is wrong."""

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from server.engine.engine import EngineConfig
from server.engine.model.vision_language_model import LoadOptions, VisionLanguageModel
from server.engine.sampling import SamplingParams
from server.protocols.http_api import create_app
from server.service import Service
from tests.server.engine.allocation_faults import WatchedEngine
from tests.server.helpers import wait_for


@pytest.fixture
def served(tiny_policy: Path) -> Iterator[tuple[TestClient, WatchedEngine, Service]]:
    model = VisionLanguageModel(tiny_policy, LoadOptions(device="cpu"))
    engine = WatchedEngine(model, EngineConfig(max_batch_size=4))
    engine.gate.set()
    service = Service(engine, SamplingParams(temperature=0), "policy", timeout_s=60)
    with TestClient(create_app(service, on_ready=lambda: None), raise_server_exceptions=False) as client:
        yield client, engine, service


def ask(text: str = "go", **fields: Any) -> dict[str, Any]:
    return {"conversations": [{"role": "user", "content": text}], "max_new_tokens": 5, **fields}


def test_an_engine_that_hangs_keeps_nobody_beyond_its_deadline(served: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    client, engine, service = served
    expected = client.post("/predict", json=ask()).json()["text"]
    released, forward = threading.Event(), engine.model.forward
    monkeypatch.setattr(engine.model, "forward", lambda *args: released.wait(60) and forward(*args))
    with ThreadPoolExecutor() as pool:
        calls = [pool.submit(client.post, "/predict", json=ask(timeout_s=0.5)) for _ in range(2)]
        body = {"messages": [{"role": "user", "content": "go"}], "stream": True, "timeout_s": 0.5}
        stream = pool.submit(client.post, "/v1/chat/completions", json=body)
        scores = pool.submit(client.post, "/score", json=ask(answers=["a"], timeout_s=0.5))
        answers = [call.result(30) for call in (*calls, scores)]
        assert [answer.status_code for answer in answers] == [408] * 3
        assert answers[0].json()["error"]["message"] == "not answered within 0.5 s"
        assert "timeout_error" in stream.result(30).text and stream.result().text.endswith("data: [DONE]\n\n")
    assert client.get("/health").json()["step_s"] > 0.5
    service.timeout_s = 0.2
    health = client.get("/health")
    assert (health.status_code, health.json()["status"]) == (503, "stuck")
    service.timeout_s = 60
    released.set()
    wait_for(lambda: engine.idle)
    assert client.get("/health").json()["status"] == "ok"
    assert client.post("/predict", json=ask()).json()["text"] == expected


@pytest.mark.parametrize("path", ["/predict", "/score", "/v1/chat/completions"])
def test_a_request_may_ask_for_less_time_than_the_server_gives_but_not_for_more(
    served: Any, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    client, engine, service = served
    is_chat = path.startswith("/v1")
    body = {"messages": [{"role": "user", "content": "go"}]} if is_chat else ask(answers=["a"])
    for wrong in ("Infinity", "NaN", "0", "-1"):
        content = json.dumps(body)[:-1] + f', "timeout_s": {wrong}}}'
        assert client.post(path, content=content).status_code == 400
    service.timeout_s = 0.5
    released, forward = threading.Event(), engine.model.forward
    monkeypatch.setattr(engine.model, "forward", lambda *args: released.wait(60) and forward(*args))
    with ThreadPoolExecutor() as pool:
        call = pool.submit(client.post, path, json={**body, "timeout_s": 1e9})
        try:
            answer = call.result(15)
        finally:
            released.set()
    assert answer.status_code == 408 and "not answered within 0.5 s" in answer.json()["error"]["message"]


def test_an_engine_whose_thread_ends_leaves_nobody_waiting(served: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as by an interpreter error that no handler may catch."""
    client, engine, _ = served
    monkeypatch.setattr(engine.model, "forward", lambda *_: (_ for _ in ()).throw(SystemExit))
    assert [client.post("/predict", json=ask()).status_code for _ in range(2)] == [503, 503]
    health = client.get("/health")
    assert (health.status_code, health.json()["status"]) == (503, "dead")


def test_a_lack_of_memory_is_a_503_with_retry_after(served: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    client, engine, _ = served
    expected = client.post("/predict", json=ask()).json()["text"]
    engine.allocations.full_from(None)
    answer = client.post("/predict", json=ask())
    assert answer.status_code == 503 and int(answer.headers["retry-after"]) >= 1
    assert answer.json()["error"]["type"] == "overloaded_error"
    engine.allocations.relieve()
    assert client.post("/predict", json=ask()).json()["text"] == expected
    assert "elcano_out_of_memory_total 2" in client.get("/metrics").text


def test_no_memory_to_read_a_request_is_a_503_too(served: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    client, engine, _ = served
    with monkeypatch.context() as patch:
        patch.setattr(engine.model, "prompt_ids", lambda *_: (_ for _ in ()).throw(MemoryError))
        assert client.post("/predict", json=ask()).status_code == 503
    assert client.post("/predict", json=ask()).status_code == 200
