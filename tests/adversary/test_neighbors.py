"""Other users of this machine, and websites that its browser has open, at the viewer and at a server without a key."""

import http.client
import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from starlette.testclient import TestClient

from common.processes import die_with_parent, listen
from server import hf_online_server
from server.config import ServerConfig
from tests.adversary.test_server_requests import application, serving
from tests.toolkits.trajectories import write_trajectory
from tests.viewer.conftest import TOKEN
from viewer import app as viewer_app
from viewer.answers import Answers
from viewer.catalog.index import Index

WORKS = ("/film", "/export", "/screenshot", "/thumbnail", "/answer/trajectory", "/answer/state", "/viewer.css")
_ASK = "import sys, urllib.request as u; print(u.urlopen(u.Request(sys.argv[1], method=sys.argv[2])).status)"


@pytest.fixture(scope="module")
def viewer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address that a viewer of a private run has printed."""
    folder = tmp_path_factory.mktemp("private") / "r"
    write_trajectory(folder, "Shop--1")
    folder.chmod(0o700)
    command = [sys.executable, "-m", "viewer", str(folder), "--port", "0"]
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder.parent / "cache")}
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, text=True, preexec_fn=die_with_parent
    ) as process:
        yield process.stdout.readline().split()[2]
        process.kill()


@pytest.mark.parametrize("place, method", [*((path, "GET") for path in ("/", *WORKS)), ("/label", "POST")])
def test_another_user_of_this_machine_sees_and_labels_nothing(viewer: str, place: str, method: str) -> None:
    """By a process of another user, where tests may start one: it has the address, and what it can guess."""
    parts = urlsplit(viewer)
    assert parts.hostname == "localhost" and len(parts.query) > len("token=") + 20
    where = f"http://localhost:{parts.port}{place}?set=r/.&name=taskShop--1&number=1"
    if os.getuid() == 0:
        command = [*("setpriv", "--reuid=65534", "--clear-groups", sys.executable, "-c"), _ASK, where, method]
        said = subprocess.run(command, capture_output=True, text=True, cwd="/")
        assert "403" in said.stderr, said
    for guess in ("", "&token=", "&token=secret"):
        assert _status(f"{where}{guess}", method) == 403


def test_what_the_viewer_keeps_of_a_private_run_is_its_users_alone(tmp_path: Path) -> None:
    """Also where it was kept for everybody before, and beside it while it is written."""
    write_trajectory(tmp_path / "r", "Shop--1")
    old = tmp_path / "cache" / "index.sqlite"
    old.parent.mkdir()
    old.touch(mode=0o666)
    before = os.umask(0)
    try:
        for file in (old, tmp_path / "cache" / "new.sqlite"):
            index = Index([tmp_path / "r"], file)
            index.refresh()
            kept = [entry for entry in file.parent.iterdir() if entry.name.startswith(file.name)]
            assert file in kept and not [entry for entry in kept if entry.stat().st_mode & 0o077]
    finally:
        os.umask(before)


def test_who_has_the_printed_address_sees_it(viewer: str) -> None:
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    assert opener.open(viewer).status == 200
    with opener.open(f"{viewer.partition('?')[0]}answer/state") as answer:
        assert "runs" in json.load(answer)


@pytest.fixture
def let_in(tmp_path: Path) -> TestClient:
    """A browser that has been let in, whose websites ask beside it."""
    write_trajectory(tmp_path / "r", "Shop--1")
    index = Index([tmp_path / "r"], tmp_path / "index.sqlite")
    index.refresh()
    app = viewer_app.create_app(Answers(index), TOKEN)
    return TestClient(app, "http://localhost:8090", cookies={"elcano_view_8090": TOKEN})


ELSEWHERE = {
    "a page of another site": {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"},
    "a page at another port of this machine": {"sec-fetch-site": "same-site", "sec-fetch-mode": "no-cors"},
    "a link of another site": {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"},
    "an old browser": {"referer": "http://evil.example/page"},
    "an old browser at another port": {"referer": "http://localhost:9000/"},
    "a script": {"origin": "http://evil.example", "sec-fetch-site": "cross-site"},
    "a sandbox": {"origin": "null"},
}


@pytest.mark.parametrize("name", ELSEWHERE)
def test_gets_of_other_websites_do_no_work(let_in: TestClient, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    worked: list[str] = []
    monkeypatch.setattr(viewer_app, "film", lambda *_: worked.append("film") or b"")
    monkeypatch.setattr(viewer_app, "trajectory_page", lambda *_, **__: worked.append("export") or "")
    where = {"set": "r/.", "name": "taskShop--1", "number": "1"}
    for place in WORKS:
        assert let_in.get(place, params=where, headers=ELSEWHERE[name]).status_code == 403
    assert let_in.post("/label", params=where, headers=ELSEWHERE[name], json={"verdict": "success"}).status_code == 403
    assert worked == []
    own = {"sec-fetch-site": "same-origin", "referer": "http://localhost:8090/"}
    assert let_in.get("/film", params=where, headers=own).status_code == 200 and worked == ["film"]


@pytest.mark.parametrize(
    "target", ["//evil/", "///evil/", "/\\evil/", "//evil/%2f..", "/film", "http://evil/", "/.//evil"]
)
def test_a_token_leads_to_the_first_page_only(viewer: str, target: str) -> None:
    parts = urlsplit(viewer)
    connection = http.client.HTTPConnection("localhost", parts.port, timeout=20)
    connection.putrequest("GET", f"{target}?{parts.query}", skip_host=True)
    connection.putheader("Host", parts.netloc)
    connection.endheaders()
    answer = connection.getresponse()
    assert answer.status in (307, 403) and answer.headers.get("location", "/") == "/"


@pytest.mark.parametrize(
    "host, port_too", [("evil.example", True), ("evil.example", False), ("localhost.evil.example", True)]
)
def test_a_name_that_was_led_here_reaches_no_server_without_a_key(host: str, port_too: bool) -> None:
    """As after DNS rebinding: the page asks its own origin, which is this machine by now."""
    listener = listen(0)
    server = hf_online_server.http_server(application(), ServerConfig(max_body_mib=1))
    with serving(server, listener) as port:
        named = f"{host}:{port}" if port_too else host
        for headers in ({"Host": named}, {"Host": named, "Origin": f"http://{named}"}):
            assert _status(f"http://127.0.0.1:{port}/predict", "POST", headers) == 403
        for own in (f"localhost:{port}", f"127.0.0.1:{port}", f"[::1]:{port}", "127.0.0.1", f"policy.localhost:{port}"):
            assert _status(f"http://127.0.0.1:{port}/predict", "POST", {"Host": own}) == 200
        assert _status(f"http://127.0.0.1:{port}/health", "GET", {"Host": named}) == 200  # load balancers
    keyed = hf_online_server.http_server(application(), ServerConfig(api_key="k"))
    listener = listen(0)
    with serving(keyed, listener) as port:
        headers = {"Host": "policy.cluster", "Authorization": "Bearer k"}
        assert _status(f"http://127.0.0.1:{port}/predict", "POST", headers) == 200


def _status(url: str, method: str, headers: dict[str, str] | None = None) -> int:
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers or {}, method=method)) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code
