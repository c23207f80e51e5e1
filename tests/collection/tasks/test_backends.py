"""WebArena-style environments: placeholders, login state, and shared backends that no rollout spoils for another."""

import asyncio
import json
import re
import time
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from collection.campaign.backends import Backends
from collection.campaign.lease import leases
from collection.campaign.schedule import Schedule
from common.errors import UserError
from data.task import Task
from data.trajectory import read_trajectory
from environments.browser.config import BrowserConfig
from environments.webarena.addresses import hosts_from_environment
from environments.webarena.tasks import read_configurations, to_tasks
from environments.webarena.world import World
from tests.collection.collector import Collector, task
from tests.conftest import ROOT

CONFIGS = [
    {"task_id": 1, "intent": "Buy", "start_url": "__SHOPPING__/cart", "sites": ["shopping"], "require_reset": True},
    {"task_id": 2, "intent": "Look", "start_url": "__MAP__ |AND| __SHOPPING__", "sites": ["map", "shopping"]},
    {
        "task_id": 3,
        "intent": "Post",
        "start_url": "__REDDIT__",
        "sites": ["reddit"],
        "storage_state": "./.auth/reddit_state.json",
        "eval": {"eval_types": ["url_match"], "reference_url": "__REDDIT__/f/books"},
    },
]
URLS = {"SHOPPING": "http://10.0.0.5:7770/", "MAP": "http://10.0.0.5:3000", "REDDIT": "http://10.0.0.5:9999"}


def test_webarena_files_are_read(tmp_path: Path) -> None:
    path = tmp_path / "test.raw.json"
    path.write_text(json.dumps(CONFIGS))
    buy, look, post = to_tasks(read_configurations(path, URLS))
    assert (buy.id, buy.ques, buy.web) == ("webarena--1", "Buy", "http://10.0.0.5:7770/cart")
    assert look.web.strip() == "http://10.0.0.5:3000"
    assert buy.changes_backend and not look.changes_backend
    assert buy.backend == look.backend == "map+shopping" and post.backend == "reddit"
    assert post.eval["reference_url"] == "http://10.0.0.5:9999/f/books"
    assert post.storage_state == ".auth/reddit_state.json"
    with pytest.raises(UserError, match="set the environment variable MAP"):
        read_configurations(path, {"SHOPPING": "http://x"})


def test_a_task_file_reads_no_variable_but_the_sites(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("SHOPPING", "http://10.0.0.5:7770/")
    path = tmp_path / "test.raw.json"
    path.write_text(json.dumps([{**CONFIGS[0], "start_url": "__SHOPPING__/?k=__OPENAI_API_KEY__&h=__HOME__"}]))
    [task] = asyncio.run(World(test_file=path).tasks())
    assert task.web == "http://10.0.0.5:7770/?k=__OPENAI_API_KEY__&h=__HOME__"


def test_the_sites_that_variables_name_may_be_private(monkeypatch: pytest.MonkeyPatch) -> None:
    task = Task("1", "q", "http://10.0.0.5:7770/")
    with pytest.raises(UserError, match="--private_hosts"):
        BrowserConfig().url_policy([task], hosts_from_environment())
    monkeypatch.setenv("SHOPPING", "http://10.0.0.5:7770/admin")
    policy = BrowserConfig().url_policy([task], hosts_from_environment())
    assert not policy.refuses_address("10.0.0.5", 7770, "10.0.0.5")
    assert policy.refuses_address("10.0.0.5", 7771, "10.0.0.5")
    monkeypatch.setenv("SHOPPING", "http://")
    assert hosts_from_environment() == []


def test_a_task_that_changes_a_backend_is_alone_there(tmp_path: Path) -> None:
    def make(number: int, changes: bool, backend: str = "shop") -> Task:
        return Task(str(number), "q", "http://a/", backend=backend, changes_backend=changes)

    tasks = [make(0, False), make(1, False), make(2, True), make(3, False), make(4, True, "forum")]

    async def go() -> None:
        with leases(tmp_path) as held:
            schedule = Schedule(tasks, held)
            begun = [await schedule.take() for _ in range(3)]
            assert [found.id for found in begun] == ["0", "1", "4"]  # 2 waits, and 3 does not overtake it
            waiting = asyncio.create_task(schedule.take())
            await schedule.done(begun[0])
            await asyncio.sleep(0.05)
            assert not waiting.done()
            await schedule.done(begun[1])
            assert (await waiting).id == "2"
            waiting = asyncio.create_task(schedule.take())
            await asyncio.sleep(0.05)
            assert not waiting.done()
            await schedule.done(tasks[2])
            assert (await waiting).id == "3"

    asyncio.run(go())


def test_a_website_is_not_crowded_and_others_go_on(tmp_path: Path) -> None:
    tasks = [Task(str(number), "q", f"http://{'a' if number < 3 else 'b'}/") for number in range(5)]

    async def go() -> None:
        with leases(tmp_path) as held:
            schedule = Schedule(tasks, held, most_per_site=1)
            first, second = await schedule.take(), await schedule.take()
            assert (first.id, second.id) == ("0", "3")
            waiting = asyncio.create_task(schedule.take())
            await asyncio.sleep(0.05)
            assert not waiting.done()
            await schedule.done(first, again=True)
            assert (await waiting).id == "1"

    asyncio.run(go())


def test_a_task_that_comes_back_is_given_to_whoever_is_left(tmp_path: Path) -> None:
    """Who took it may be gone."""

    async def go() -> None:
        with leases(tmp_path) as held:
            schedule = Schedule([Task("0", "q", "http://a/")], held)
            begun = await schedule.take()
            waiting, finished = asyncio.create_task(schedule.take()), asyncio.create_task(schedule.finished())
            await asyncio.sleep(0.05)
            await schedule.done(begun, again=True)
            assert (await waiting).id == "0" and not finished.done()
            await schedule.done(begun)
            await finished
            assert await schedule.take() is None

    asyncio.run(go())


def test_a_backend_that_was_not_reset_marks_what_follows(tmp_path: Path) -> None:
    change = Task("c", "q", "http://a/", backend="shop", changes_backend=True)
    look = Task("l", "q", "http://a/", backend="shop")
    said: list[str] = []

    def with_command(command: str) -> Backends:
        return Backends(tmp_path, World(reset_command=command).restore, said.append)

    async def go() -> None:
        backends = with_command("")
        backends.begin(change)
        await backends.after(change)
        assert with_command("").contaminated_by(look) == "c"  # also for the collector after the next crash
        marker = tmp_path / "reset"
        backends = with_command(f'echo "$BACKEND" > {marker}')
        await backends.before(change)
        assert marker.read_text() == "shop\n" and not backends.contaminated_by(look)
        backends = with_command("echo no disk; exit 1")
        backends.begin(change)
        await backends.after(change)
        assert backends.contaminated_by(look) == "c"
        assert len(said) == 1 and said[0].startswith("shop was not put back") and said[0].endswith("no disk")

    asyncio.run(go())


def test_login_state_contamination_and_keys_in_a_real_run(
    collector: Collector, site: ThreadingHTTPServer, url: str, tmp_path: Path
) -> None:
    """The agent begins with the cookie of the file; the second task is marked; the key is written nowhere."""
    state = tmp_path / "state.json"
    cookie = {"name": "session", "value": "77", "domain": "127.0.0.1", "path": "/", "expires": -1, "sameSite": "Lax"}
    state.write_text(json.dumps({"cookies": [cookie], "origins": []}))
    site.visits["77"] = 5
    fields: dict[str, Any] = {"backend": "b", "storage_state": str(state)}
    tasks = [
        task("change", f"{url}/visits", "ANSWER; x", **fields, changes_backend=True),
        task("look", f"{url}/visits", "ANSWER; y", **fields),
    ]
    key = "sk-nobody-may-see-this"
    done = collector.run(tasks, api_base=f"{url}/v1", api_model="m", api_key=key, num_sessions=2)
    assert done.returncode == 0, done.stderr
    first, second = (read_trajectory(collector.results / f"taskT--{name}") for name in ("change", "look"))
    assert "Visit 6" in first.trees[0] and "Visit 7" in second.trees[0]
    assert "contaminated_by" not in first.provenance and second.provenance["contaminated_by"] == "T--change"
    written = [path.read_bytes() for path in collector.results.rglob("*") if path.is_file()]
    assert not any(key.encode() in content for content in [*written, done.stdout.encode(), done.stderr.encode()])


def test_a_key_on_the_command_line_is_hidden_from_ps(
    collector: Collector, site: ThreadingHTTPServer, url: str, spawn: Any
) -> None:
    site.slow_s = 60
    flags = {"api_base": f"{url}/v1", "api_model": "m", "api_key": "sk-nobody-may-see-this"}
    child = spawn(*collector.arguments([task(1, f"{url}/", "ANSWER; x")], **flags))
    while not site.requests:
        assert child.poll() is None
        time.sleep(0.05)
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes()
        except OSError:
            continue
        if path.parent.name == str(child.pid) or str(collector.folder).encode() in words:
            assert b"sk-nobody-may-see-this" not in words


def test_every_command_that_takes_a_key_hides_it() -> None:
    hiding = r"    hide_keys\(.*\)\n    run\("
    commands = [path for path in (ROOT / "collection").rglob("*.py") if "__main__" in path.read_text()]
    taking = r"api_key: str|run\((Run|Exploration|Proposals|Correction)Config"
    takers = [path for path in commands if re.search(taking, path.read_text())]
    assert len(takers) >= 6
    assert [path.name for path in takers if not re.search(hiding, path.read_text())] == []
