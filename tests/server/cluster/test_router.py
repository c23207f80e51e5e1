"""Where a request goes when there are several replicas, and that all of them serve the wanted weights."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi.testclient import TestClient

from common.errors import UserError
from common.processes import num_cores
from server.cluster import fleet as fleet_module
from server.cluster.fleet import Fleet, Replica
from server.cluster.replicas import Router, create_router_app, session_of
from server.config import ServerConfig
from server.hf_online_server import replicas_here
from tests import tiny
from tests.server.helpers import RunningServer, wait_for

STAND_IN = Path(__file__).with_name("stand_in_replica.py")


class Served:
    """A router before two stand-in processes, which serve the folder `old`."""

    def __init__(self, client: TestClient, fleet: Fleet, states: list[Path], folder: Callable[[str], Path]):
        self.client, self.fleet, self.states, self.folder = client, fleet, states, folder

    def reload(self, name: str) -> Any:
        return self.client.post("/reload", json={"model_name_or_path": str(self.folder(name))})

    def health(self) -> tuple[str, str]:
        state = self.client.get("/health").json()
        return state["status"], state["weights_version"]

    def replies(self) -> set[str]:
        """The versions that answer; where none does, nothing is answered."""
        answers = [self.client.post("/predict", json={"id": f"episode {number}"}) for number in range(8)]
        return {answer.json()["weights_version"] for answer in answers if answer.status_code == 200}

    def wait_whole(self, version: str) -> None:
        """Until all replicas are well; meanwhile nobody may answer with another version."""

        def whole() -> bool:
            assert self.replies() <= {version}
            return self.health() == ("ok", version)

        wait_for(whole)


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    monkeypatch.setattr(fleet_module, "_PAUSE_S", 0.1)

    def folder(name: str) -> Path:
        (tmp_path / name).mkdir(exist_ok=True)
        (tmp_path / name / "version").write_text(f"{name}@1")
        return tmp_path / name

    states = [tmp_path / f"state{number}" for number in range(2)]
    for state in states:
        state.mkdir()
    fleet = Fleet([Replica([sys.executable, str(STAND_IN), str(state)]) for state in states], folder("old"))
    fleet.start()
    with TestClient(create_router_app(fleet, lambda: None, slack=0, timeout_s=10)) as client:
        yield Served(client, fleet, states, folder)


def test_a_replica_that_dies_after_a_reload_comes_back_with_the_new_weights(served: Served) -> None:
    assert served.health() == ("ok", "old@1")
    assert served.reload("new").json() == {"weights_version": "new@1"}
    first = served.fleet.replicas[0].process
    first.kill()
    first.wait()
    assert served.health()[0] == "degraded"
    served.wait_whole("new@1")
    assert served.fleet.replicas[0].process is not first


def test_a_replica_that_is_down_during_a_reload_comes_back_with_the_new_weights(served: Served) -> None:
    first = served.fleet.replicas[0].process
    first.kill()
    first.wait()
    assert served.reload("new").status_code == 200
    served.wait_whole("new@1")


def test_a_replica_that_fails_its_reload_is_started_again_with_the_wanted_weights(served: Served) -> None:
    (served.states[0] / "refuse").touch()
    assert served.reload("new").json() == {"weights_version": "new@1"}
    assert served.health()[0] == "degraded"
    served.wait_whole("new@1")


def test_a_reload_that_fails_everywhere_changes_nothing(served: Served) -> None:
    processes = [replica.process for replica in served.fleet.replicas]
    for state in served.states:
        (state / "refuse").touch()
    assert served.reload("new").status_code == 503
    assert served.health() == ("ok", "old@1") and served.replies() == {"old@1"}
    assert [replica.process for replica in served.fleet.replicas] == processes
    processes[0].kill()
    served.wait_whole("old@1")


def test_no_way_to_reload_leads_past_the_router(served: Served) -> None:
    body = {"model_name_or_path": str(served.folder("new"))}
    for path in ("/%2e/reload", "/x/%2e%2e/reload", "/reload%7f", "/%00reload"):
        assert served.client.post(path, json=body).status_code == 404
    assert served.health() == ("ok", "old@1") and served.replies() == {"old@1"}


def test_a_replica_whose_weights_were_changed_directly_is_started_again(served: Served) -> None:
    first = served.fleet.replicas[0]
    process = first.process
    httpx.post(f"{first.url}/reload", json={"model_name_or_path": str(served.folder("new"))})
    wait_for(lambda: first.process is not process and served.health() == ("ok", "old@1"))
    assert served.replies() == {"old@1"}


def test_a_dismissed_replica_that_hangs_is_killed(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fleet_module, "_DRAIN_S", 0.5)
    first = served.fleet.replicas[0]
    process = first.process
    os.kill(process.pid, signal.SIGSTOP)
    first.dismiss()
    wait_for(lambda: first.process is not process and served.health() == ("ok", "old@1"))


def test_a_replica_that_is_silent_after_its_start_is_begun_again(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fleet_module, "_HEALTH_S", 1.0)
    (served.states[0] / "silent").touch()
    first = served.fleet.replicas[0]
    dead = first.process
    dead.kill()
    wait_for(lambda: first.process is not dead)
    silent = first.process
    wait_for(lambda: first.process is not silent)
    (served.states[0] / "silent").unlink()
    wait_for(lambda: served.health() == ("ok", "old@1"))


def test_a_replica_that_hangs_at_the_end_is_killed(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fleet_module, "_END_S", 0.5)
    replica = served.fleet.replicas[0]
    process = replica.process
    os.kill(process.pid, signal.SIGSTOP)
    replica.stop()
    assert process.wait(5) < 0


def test_a_stream_whose_replica_is_killed_ends_with_an_error(served: Served) -> None:
    def kill_soon() -> None:
        wait_for(lambda: any(replica._awaited for replica in served.fleet.replicas))
        time.sleep(0.5)
        for replica in served.fleet.replicas:
            os.kill(replica.process.pid, signal.SIGKILL)

    killer = threading.Thread(target=kill_soon)
    killer.start()
    answer = served.client.post("/stream", json={"id": "episode"})
    killer.join()
    first, last = answer.text.strip().split("\n\n")
    assert first == "data: 1" and "this replica is down" in last


def test_requests_to_a_replica_that_is_killed_wait_no_longer() -> None:
    """A link that is cut does not say so."""

    async def request(replica: Replica) -> None:
        async with replica.awaited():
            await asyncio.sleep(600)

    async def all_end() -> list[BaseException | None]:
        replica = Replica([], process=subprocess.Popen(["true"]))
        requests = [asyncio.create_task(request(replica)) for _ in range(2)]
        await asyncio.sleep(0)
        replica.kill()
        return await asyncio.gather(*requests, return_exceptions=True)

    assert [type(error) for error in asyncio.run(all_end())] == [TimeoutError, TimeoutError]


def test_a_content_type_of_any_bytes_is_passed_on(served: Served) -> None:
    headers = {"content-type": b"application/json; x=\xc3\xa9"}
    answer = served.client.post("/predict", content=b'{"id": "episode"}', headers=headers)
    assert answer.json() == {"weights_version": "old@1", "content_type": "application/json; x=\xc3\xa9"}


@pytest.mark.parametrize("health", ["[]", "null", "{}", '{"status": "ok", "weights_version": "old@1"}'])
def test_a_replica_whose_health_is_no_health_is_started_again(served: Served, health: str) -> None:
    first = served.fleet.replicas[0].process
    (served.states[0] / "health").write_text(health)
    wait_for(lambda: served.health() == ("degraded", "old@1"))
    wait_for(lambda: first.poll() is not None)
    (served.states[0] / "health").unlink()
    served.wait_whole("old@1")


@pytest.mark.parametrize("status", ["dead", "stuck"])
def test_a_replica_that_is_dead_inside_or_stuck_is_started_again(served: Served, status: str) -> None:
    first = served.fleet.replicas[0].process
    (served.states[0] / "status").write_text(status)
    assert served.health()[0] == "degraded"
    wait_for(lambda: first.poll() is not None)
    (served.states[0] / "status").unlink()
    served.wait_whole("old@1")


def test_a_folder_that_changed_on_the_disk_is_not_served_beside_the_wanted_weights(served: Served) -> None:
    (served.folder("old") / "version").write_text("old@2")
    first = served.fleet.replicas[0].process
    first.kill()
    wait_for(lambda: served.fleet.replicas[0].process not in (first, None))
    for _ in range(20):
        assert served.replies() <= {"old@1"} and served.health() == ("degraded", "old@1")
    (served.folder("old") / "version").write_text("old@2")
    answer = served.client.post("/reload", json={"model_name_or_path": str(served.fleet.folder)})
    assert answer.json() == {"weights_version": "old@2"}
    served.wait_whole("old@2")


def test_a_fleet_that_does_not_start_leaves_no_process(tmp_path: Path) -> None:
    replicas = [Replica([sys.executable, str(STAND_IN), str(tmp_path)]) for _ in range(2)]
    with pytest.raises(UserError, match="ended at its start"):
        Fleet(replicas, tmp_path / "nowhere").start()
    assert all(replica.process.wait(10) for replica in replicas)


@pytest.mark.slow
def test_real_replicas_serve_one_version_after_a_reload_and_a_death(
    start_server: Callable[..., RunningServer], tiny_policy: Path, tmp_path: Path
) -> None:
    other = tiny.build_decisive_policy(tmp_path / "other", hidden=32)
    server = start_server(tiny_policy, "--replicas", "2", "--temperature", "0")
    version = server.post("/reload", {"model_name_or_path": str(other)})[1]["weights_version"]
    assert version.startswith("other@") and server.get("/health")["status"] == "ok"
    children = subprocess.run(["pgrep", "-P", str(server.process.pid)], capture_output=True, text=True).stdout.split()
    os.kill(int(children[0]), signal.SIGKILL)

    def whole() -> bool:
        ask = {"conversations": [{"role": "user", "content": "go"}], "max_new_tokens": 5}
        for number in range(4):
            status, reply = server.post("/predict", {**ask, "id": f"episode {number}"})
            assert status == 503 or reply["weights_version"] == version
        state = server.get("/health")
        assert state["status"] in ("ok", "degraded") and state["weights_version"] == version
        return state["status"] == "ok"

    assert not whole()
    wait_for(whole)


def test_sessions_stay_and_new_ones_go_where_least_is_under_way() -> None:
    one, other = Replica([], url="one"), Replica([], url="other")
    router = Router([one, other], slack=2)
    one.in_flight = 1
    assert router.choose("a") is other
    other.in_flight = 3
    assert router.choose("a") is other and router.choose("b") is one and router.choose(None) is one
    other.in_flight = 4  # waiting there would cost more than reading again elsewhere
    assert router.choose("a") is one
    other.in_flight = 0
    assert router.choose("a") is one
    one.url = ""
    assert router.choose("a") is other
    other.url = ""
    assert router.choose("a") is None


def test_episodes_that_begin_one_after_another_spread() -> None:
    replicas = [Replica([], url="one"), Replica([], url="other")]
    router = Router(replicas, slack=2)
    homes = [router.choose(str(number)) for number in range(6)]
    assert homes == replicas * 3
    assert [router.choose(str(number)) for number in range(6)] == homes


def test_what_names_an_episode() -> None:
    def named(body: object, **headers: str) -> str | None:
        return session_of({name.replace("_", "-"): value for name, value in headers.items()}, json.dumps(body).encode())

    assert named({"id": "taskShop--3"}) == "taskShop--3"
    assert named({"user": "u", "messages": []}) == "u"
    assert named({"id": "x"}, x_session_id="y") == "y"
    assert len(named({"id": "x" * 10**6})) < 1000 > len(named({}, x_session_id="x" * 10**6))
    first = {"role": "user", "content": "Find it.\nOBSERVATION:\n<image>\n[1] link"}
    later = {"role": "user", "content": "Find it.\nOBSERVATION: screenshot omitted, accessibility tree omitted."}
    assert named({"conversations": [first]}) == named({"conversations": [later, first]}) == "Find it."
    parts = [{"type": "text", "text": "Now given a task: x \nObservation"}, {"type": "image_url"}]
    assert named({"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": parts}]})
    for broken in ({}, [], 3, {"messages": 3}, {"messages": [{"role": "user"}]}):
        assert named(broken) is None
    assert session_of({}, b"{") is None


def test_replicas_on_a_cpu_share_its_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three with two threads each on two cores answered a seventh of the requests of one."""
    monkeypatch.setenv("OMP_NUM_THREADS", "")  # put back in the end
    monkeypatch.delenv("OMP_NUM_THREADS")
    assert len(replicas_here(ServerConfig(device="cpu", replicas=2), [])) == 2
    assert os.environ["OMP_NUM_THREADS"] == str(max(1, num_cores() // 2))
