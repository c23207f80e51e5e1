"""What the server demands of its clients, and what they may expect of it."""

import json
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests import tiny
from tests.server.helpers import RunningServer, png, screenshot


@pytest.fixture(scope="module")
def strict(start_server: Callable[..., RunningServer], tiny_policy: Path, tmp_path_factory: Any) -> RunningServer:
    """A server with a password, a small body limit and an access log."""
    log = tmp_path_factory.mktemp("log") / "access.jsonl"
    flags = ("--api_key", "s3cret", "--max_body_mib", "1", "--access_log", str(log), "--temperature", "0")
    server = start_server(tiny_policy, *flags, "--request_timeout_s", "120")
    server.log = log
    return server


def send(server: RunningServer, path: str, body: Any = None, key: str = "s3cret") -> tuple[int, bytes]:
    content = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {key}"}
    request = urllib.request.Request(server.url + path, content, headers)
    try:
        with urllib.request.urlopen(request, timeout=120) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def ask(text: str = "go", **fields: Any) -> dict[str, Any]:
    return {"conversations": [{"role": "user", "content": text}], "max_new_tokens": 5, **fields}


def test_without_the_password_nothing_but_health(strict: RunningServer) -> None:
    assert send(strict, "/predict", ask())[0] == 200
    for path, body in (("/predict", ask()), ("/metrics", None), ("/reload", {}), ("/docs", None)):
        status, answer = send(strict, path, body, key="wrong")
        assert status == 401 and b"bearer token" in answer
    assert send(strict, "/health", key="")[0] == 200


def test_large_bodies_are_refused_also_without_a_length(strict: RunningServer) -> None:
    assert send(strict, "/predict", ask("x" * 2**21))[0] == 413
    host, port = strict.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=60) as client:
        head = "POST /predict HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer s3cret\r\nTransfer-Encoding: chunked\r\n"
        client.sendall(f"{head}Content-Type: application/json\r\n\r\n".encode())
        piece = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
        for _ in range(20):
            try:
                client.sendall(piece)
            except OSError:
                break
        assert b"413" in client.recv(100)


@pytest.mark.parametrize("key, status", [("s3cret", b"413"), ("wrong", b"401")])
def test_a_refused_client_can_finish_sending_and_read_why(strict: RunningServer, key: str, status: bytes) -> None:
    host, port = strict.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=60) as client:
        head = f"POST /predict HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\nContent-Length: {20 * 2**16}\r\n"
        client.sendall(head.encode() + b"Connection: close\r\n\r\n")
        for _ in range(20):
            time.sleep(0.01)
            client.sendall(b"x" * 2**16)
        assert status in client.recv(100)


def test_a_deadline_ends_a_request(strict: RunningServer) -> None:
    status, answer = send(strict, "/predict", ask(max_new_tokens=4000, min_new_tokens=4000, timeout_s=0.3))
    assert status == 408 and b"not answered within 0.3 s" in answer
    assert send(strict, "/predict", ask())[0] == 200


def test_the_access_log_says_what_a_request_cost(strict: RunningServer) -> None:
    send(strict, "/predict", ask())
    time.sleep(0.1)
    line = json.loads(strict.log.read_text().splitlines()[-1])
    assert (line["method"], line["path"], line["status"], line["completion_tokens"]) == ("POST", "/predict", 200, 5)
    assert line["weights_version"].startswith("policy@") and line["queue_s"] >= 0


def test_metrics_count(strict: RunningServer) -> None:
    def metric(name: str) -> float:
        text = send(strict, "/metrics")[1].decode()
        return float(next(line for line in text.splitlines() if line.startswith(f"elcano_{name} ")).split()[1])

    before = metric("finished_total"), metric("generated_tokens_total"), metric("request_seconds_count")
    image = {"images": [png(screenshot(77))]}
    for _ in range(2):
        assert send(strict, "/predict", ask("<image> see", **image))[0] == 200
    assert (metric("finished_total"), metric("generated_tokens_total")) == (before[0] + 2, before[1] + 10)
    assert metric("request_seconds_count") == before[2] + 2
    assert metric("cached_tokens_total") > 0
    assert metric("running") == 0


def test_reload_changes_the_weights_and_keeps_promises(
    start_server: Callable[..., RunningServer], tiny_policy: Path, tmp_path: Path
) -> None:
    """What is under way ends on the old weights, what comes later is answered by the new ones, and both say so."""
    other = tiny.build_decisive_policy(tmp_path / "other", hidden=32)
    server = start_server(tiny_policy, "--temperature", "0")
    plain = server.post("/predict", ask(max_new_tokens=20))[1]
    replies: list[Any] = []
    long = ask(max_new_tokens=1500, min_new_tokens=1500)
    client = threading.Thread(target=lambda: replies.append(server.post("/predict", long)))
    client.start()
    while server.get("/health")["num_running"] == 0:
        time.sleep(0.01)
    status, answer = server.post("/reload", {"model_name_or_path": str(other)})
    assert status == 200 and answer["weights_version"].startswith("other@")
    new = server.post("/predict", ask(max_new_tokens=20))[1]
    client.join(120)
    assert (replies[0][0], replies[0][1]["completion_tokens"]) == (200, 1500)
    assert replies[0][1]["weights_version"] == plain["weights_version"] != new["weights_version"]
    assert new["text"] != plain["text"] and server.get("/v1/models")["data"][0]["id"] == "other"
    refused = server.post("/reload", {"model_name_or_path": "nowhere"})[1]["error"]["message"]
    assert refused.startswith(f"model_name_or_path nowhere: no such folder in {Path.cwd()}, the server's own")
    for bad in (str(tmp_path), "a" * 5000, ""):
        assert server.post("/reload", {"model_name_or_path": bad})[0] == 400
    assert server.post("/predict", ask(max_new_tokens=20))[1] == new
    assert server.get("/health")["num_finished"] == 4


@pytest.mark.slow
def test_replicas_share_one_port_and_keep_episodes_apart(
    start_server: Callable[..., RunningServer], tiny_policy: Path
) -> None:
    server = start_server(tiny_policy, "--replicas", "2", "--temperature", "0")
    texts = {}
    for episode in range(6):
        replies = [server.post("/predict", ask("go on " * 40, id=f"episode {episode}"))[1] for _ in range(3)]
        texts[episode] = {reply["text"] for reply in replies}
    assert all(len(found) == 1 for found in texts.values())
    health = server.get("/health")
    assert health["status"] == "ok" and health["num_finished"] == 18
    assert all(one["num_finished"] % 3 == 0 for one in health["replicas"])  # an episode never changes its replica
    with urllib.request.urlopen(server.url + "/metrics", timeout=60) as answer:
        families = list(text_string_to_metric_families(answer.read().decode()))
    assert len({family.name for family in families}) == len(families)  # each is told once, for all replicas
    finished = next(family for family in families if family.name == "elcano_finished").samples
    assert {sample.labels["replica"] for sample in finished} == {"0", "1"}
    assert sum(sample.value for sample in finished) == 18
    assert server.post("/predict", ask(images=["%"]))[0] == 400
    assert server.post("/reload", {"model_name_or_path": str(tiny_policy)})[0] == 200

    stream = json.dumps({"messages": [{"role": "user", "content": "go"}], "stream": True, "max_tokens": 5}).encode()
    request = urllib.request.Request(server.url + "/v1/chat/completions", stream, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        assert answer.read().endswith(b"data: [DONE]\n\n")

    children = subprocess.run(["pgrep", "-P", str(server.process.pid)], capture_output=True, text=True).stdout.split()
    server.process.terminate()
    assert server.process.wait(60) == 0
    assert len(children) == 2 and not any(Path(f"/proc/{child}").exists() for child in children)
