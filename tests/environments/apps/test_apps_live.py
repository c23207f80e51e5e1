"""The applications themselves, where they are installed: their seeds, their servers, and every template solved."""

import asyncio
import contextlib
import json
import os
import re
import sqlite3
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil
import pytest

import environments
from common.background import run_in_background
from environments.apps.application import Application, app_names, make_app
from environments.apps.changes import digest
from environments.apps.django_project.lifecycle import DATABASE as DJANGO
from environments.apps.fava.start import LEDGER
from environments.apps.fossil.start import REPOSITORY
from environments.apps.hledger.start import JOURNAL
from environments.apps.installing import python_of
from environments.apps.mail.settings import DATABASE as MAIL
from environments.apps.mediawiki.settings import DATABASE as WIKI
from environments.apps.sandbox import complaint
from environments.apps.server import Server
from environments.apps.servers import Servers
from environments.apps.tiddlywiki.snapshot import FOLDER as PAGES
from tests.conftest import ROOT
from tests.environments.made_states import MADE_STATES
from tests.waiting import wait_until

pytestmark = pytest.mark.slow
DISTURBANCES = {
    "fossil": (REPOSITORY, "DELETE FROM ticket"),
    "mail": (MAIL, "DELETE FROM contactgroupmembers"),
    "mediawiki": (WIKI, "DELETE FROM watchlist"),
    "machina": (DJANGO, "DELETE FROM forum_polls_topicpoll"),
    "oscar": (DJANGO, "DELETE FROM wishlists_line"),
    "pretalx": (DJANGO, "DELETE FROM submission_review_scores"),
    "roundup": ("db/db", "UPDATE _bug SET _title = 'x' WHERE id = 3"),
    "roundup_devel": ("db/db", "UPDATE _bug SET _title = 'x' WHERE id = 3"),
    "trac": ("db/trac.db", "DELETE FROM milestone"),
    "wagtail": (DJANGO, "DELETE FROM wagtailredirects_redirect"),
}
PAGES_END = {"pretalx": "</form></div></div>"}
"""How the first page ends, where closing tags are left out."""
FILES = {"fava": LEDGER, "hledger": JOURNAL, "tiddlywiki": f"{PAGES}/Catalog.tid"}
TREES = dict.fromkeys(
    ("fava", "fossil", "hledger", "machina", "mail", "oscar", "pretalx", "roundup_devel", "tiddlywiki", "wagtail"),
    "complete",
)
"""Which tree an expert reads, if not that of released models."""


TRAPS = """
option "insert_pythonpath" "True"
option "documents" "/"
include "{secret}"
plugin "trap"
2025-02-01 custom "fava-extension" "trap"
2025-02-01 custom "fava-option" "import-config" "trap.py"
2025-02-01 document Expenses:Rent "{secret}"
"""
AWKWARD = """
2026-01-02 txn "No payee; with a semicolon" #tag ^link
  ; a remark
    Expenses:Rent   1,200.5 EUR ; another one
  kind: "text"
    ! Assets:Bank
2026-01-03 ! "Over
  two lines" "x"
  Assets:Cash  -3 EUR
  Expenses:Tools 1.00 EUR
  Expenses:Parts  2 EUR
"""
AWKWARD_JOURNAL = """
; a remark; with a semicolon
2026/1/2=2026/1/3 ! (a 7) Somebody | something  ; a tag: value
    ; another remark
    expenses:hall   1,200.5 EUR ;
    assets:bank

2026-01-03 No mark
\tassets:cash  -3 EUR
  expenses:stage\t1.00 EUR
  expenses:hall  2 EUR
"""
BEANCOUNT = """
import json, sys
from beancount import loader
from beancount.core.data import Transaction
entries, errors, _ = loader.load_file(sys.argv[1])
assert not errors, errors
def leg(one):
    return " ".join(filter(None, (one.account, f"{one.units.number:.2f} {one.units.currency}", one.flag)))
def plain(text):
    return " ".join((text or "").split())
print(json.dumps([
    [str(one.date), one.flag, plain(one.payee), plain(one.narration), ", ".join(sorted(map(leg, one.postings)))]
    for one in entries if isinstance(one, Transaction)
]))
"""


@pytest.fixture(params=app_names())
def app(request: pytest.FixtureRequest) -> Application:
    """Each of them that is installed."""
    made = make_app(request.param)
    if not made.installed:
        pytest.skip(f"not installed: python -m environments.apps install {made.name}")
    return made


def test_a_second_build_holds_the_same_and_what_the_made_state_says(app: Application, tmp_path: Path) -> None:
    app.build_state(tmp_path / "state")
    assert digest(app.records(tmp_path / "state")) == app.digest
    made = [record for record in MADE_STATES[app.name] if record.get("author") != "trac"]  # whose texts are Trac's own
    assert [record for record in made if record not in app.seed_records] == []


def test_the_ledger_is_read_as_beancount_reads_it(tmp_path: Path) -> None:
    fava = make_app("fava")
    if not fava.installed:
        pytest.skip("not installed: python -m environments.apps install fava")
    ledger = tmp_path / LEDGER
    ledger.write_text((fava.seed / "state" / LEDGER).read_text() + AWKWARD)
    command = [str(python_of(fava.program)), "-c", BEANCOUNT, str(ledger)]
    theirs = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    ours = [
        [one["date"], one["flag"], one["payee"], one["narration"], one["postings"]]
        for one in fava.records(tmp_path)
        if one["kind"] == "transaction"
    ]
    assert sorted(ours) == sorted(theirs) and len(ours) > 150


def test_the_journal_is_read_as_hledger_reads_it_and_cannot_be_edited_as_a_file(tmp_path: Path) -> None:
    hledger = make_app("hledger")
    if not hledger.installed:
        pytest.skip("not installed: python -m environments.apps install hledger")

    async def play() -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[int]]:
        server = Server(hledger, tmp_path / "own")
        await server.start()
        try:
            with open(server.state / JOURNAL, "a") as journal:
                journal.write(AWKWARD_JOURNAL)
            there = f"http://127.0.0.1:{server.port}"
            said = json.loads(urllib.request.urlopen(f"{there}/transactions", timeout=60).read())
            refused = [status(f"{there}/{page}/{JOURNAL}") for page in ("edit", "upload", "download")]
            return said, hledger.records(server.state), refused
        finally:
            server.stop()

    said, records, refused = asyncio.run(play())
    ours = [
        (one["date"], one["status"], one["code"], one["description"], one["postings"])
        for one in records
        if one["kind"] == "transaction"
    ]
    assert ours == [transaction_of(one) for one in said] and len(ours) > 130
    assert all(code >= 400 for code in refused)


def transaction_of(one: dict[str, Any]) -> tuple[str, ...]:
    """A transaction as hledger-web's own interface gives it."""
    marks = {"Unmarked": "", "Pending": "!", "Cleared": "*"}
    legs = [
        f"{posting['paccount']} {amount['aquantity']['floatingPoint']:.2f} {amount['acommodity']}"
        for posting in one["tpostings"]
        for amount in posting["pamount"]
    ]
    return one["tdate"], marks[one["tstatus"]], one["tcode"], one["tdescription"], ", ".join(sorted(legs))


def test_servers_share_nothing_are_put_back_and_leave_nothing(app: Application) -> None:
    def get(server: Server) -> str:
        class HereAlone(urllib.request.HTTPRedirectHandler):
            def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
                here = urlsplit(newurl)._replace(netloc=f"127.0.0.1:{server.port}").geturl()
                return super().redirect_request(req, fp, code, msg, headers, here)

        url, host = app.address(f"http://127.0.0.1:{server.port}"), urlsplit(server.address).netloc
        opener = urllib.request.build_opener(HereAlone())
        return opener.open(urllib.request.Request(url, headers={"Host": host}), timeout=20).read().decode()

    end = PAGES_END.get(app.name, "</html>")

    async def play() -> list[int]:
        with Servers(7070) as servers:
            one, other = await servers.take(app), await servers.take(app)
            assert one.port != other.port
            disturb(app, one)
            assert any(one.changes().values()) and not any(other.changes().values())
            assert end in get(other)
            servers.give_back(one)
            again = await servers.take(app)
            assert again is one
            assert not any(again.changes().values()) and end in get(again)
            one._process.kill()
            one._process.wait()
            servers.give_back(one)
            assert (await servers.take(app)).port != one.port  # a dead one is not lent
            return [server._process.pid for server in servers._all]

    for pid in asyncio.run(play()):
        wait_until_gone(pid)


def test_episodes_at_the_same_time_see_nothing_of_each_other(app: Application, tmp_path: Path) -> None:
    words = ["-m", "benchmarks.apps", "--env_tasks", app.name, "--num_sessions", 2, "--num_episodes", 4]
    command = [sys.executable, *map(str, words), "--output", str(tmp_path / "apps.json")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=1500)
    assert done.returncode == 0, done.stdout + done.stderr
    said = json.loads((tmp_path / "apps.json").read_text())
    assert said["faults"] == {} and said["unlike_seed"] == [] and said["compared"] == 2
    assert sum(said["cpu_s"].values()) > 0 and said["most_mb"].keys() == {"applications", "browsers", "ours"}


@pytest.mark.skipif(complaint() != "", reason=complaint())
def test_its_server_runs_in_the_sandbox(app: Application, tmp_path: Path) -> None:
    """All of its processes: what else a program may not do there is tried in test_sandbox.py."""

    async def play() -> list[dict[str, str]]:
        server = Server(app, tmp_path / "own")
        await server.start()
        try:
            main = psutil.Process(server._process.pid)
            statuses = [Path(f"/proc/{one.pid}/status").read_text() for one in (main, *main.children(recursive=True))]
            return [dict(re.findall(r"(\w+):\s*(\S+)", status)) for status in statuses]
        finally:
            server.stop()

    for status in asyncio.run(play()):
        assert (status["NoNewPrivs"], status["Seccomp"], int(status["CapEff"], 16)) == ("1", "2", 0)


def test_a_ledger_reaches_nothing_else_of_the_machine(tmp_path: Path) -> None:
    """What it would include, show or load is left alone."""
    fava = make_app("fava")
    if not fava.installed:
        pytest.skip("not installed: python -m environments.apps install fava")
    secret, trap, sprung = tmp_path / "secret.beancount", tmp_path / "own" / "trap.py", tmp_path / "sprung"
    secret.write_text("2025-01-01 open Assets:Secret\n")

    async def play() -> list[int]:
        server = Server(fava, trap.parent)
        await server.start()
        try:
            (server.state / "trap.py").write_text(f"open({str(sprung)!r}, 'w')\n__plugins__ = ()\n")
            with open(server.state / LEDGER, "a") as ledger:
                ledger.write(TRAPS.format(secret=secret))
            api = f"http://127.0.0.1:{server.port}/bicycle-workshop/api"
            asked = [
                *("options", "balance_sheet", "documents", "extract?filename=x&importer=y"),
                *(f"source?filename={secret}", f"../document/?filename={secret}"),
            ]
            return [status(f"{api}/{query}") for query in asked]
        finally:
            server.stop()

    found = asyncio.run(play())
    assert found[:3] == [200, 200, 200] and all(code >= 400 for code in found[3:])
    assert not sprung.exists()


def status(url: str) -> int:
    try:
        return urllib.request.urlopen(url, timeout=20).status
    except urllib.error.HTTPError as error:
        return error.code


def wait_until_gone(group: int) -> None:
    """A child that served a request is killed with its server, and reaped by another process a moment later."""
    deadline = time.monotonic() + 20
    with contextlib.suppress(ProcessLookupError):
        while True:
            os.killpg(group, 0)
            assert time.monotonic() < deadline, f"processes of {group} are left"
            time.sleep(0.1)


def disturb(app: Application, server: Server) -> None:
    """Change something behind its back."""
    if app.name in FILES:
        (server.state / FILES[app.name]).write_text("; nothing is left\n")
        return
    database, command = DISTURBANCES[app.name]
    with contextlib.closing(sqlite3.connect(server.state / database)) as connection, connection:
        connection.execute(command)


@pytest.mark.timeout(1600)
def test_its_expert_solves_every_template_through_the_collector(app: Application, spawn, tmp_path: Path) -> None:
    expert = spawn("environments/apps/expert/server.py", "--port", 0, stdout=subprocess.PIPE)
    address = re.search(r"http://\S+", expert.stdout.readline())[0]
    command = [sys.executable, "collection/run.py", "--env", "apps", "--env_tasks", app.name, "--headless"]
    command += ["--api_base", address, "--api_model", "expert", "--text_only", "--env_seeds", "1"]
    command += [
        "--tree_visibility",
        TREES.get(app.name, "released"),
        "--max_iter",
        "20",
        "--num_sessions",
        "2",
        "--output_dir",
        str(tmp_path),
    ]
    finished = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=1500)
    assert finished.returncode == 0, finished.stderr
    outcomes = {path.parent.name: json.loads(path.read_text()) for path in tmp_path.glob("task*/outcome.json")}
    assert len(outcomes) == len(app.module("tasks").TEMPLATES)
    assert [name for name, outcome in outcomes.items() if outcome["verdict"] != "success"] == []


def impossible(app: Application) -> str:
    """A template whose tasks cannot be done, by the name of its application and its own."""
    return next(
        f"{app.name}.{name}"
        for name, template in app.module("tasks").TEMPLATES.items()
        if template.family == "impossible"
    )


def test_gymnasium_takes_an_episode_of_it(app: Application) -> None:
    gymnasium = pytest.importorskip("gymnasium")
    import environments.gymnasium_adapter  # noqa: F401 - registers the applications

    env = gymnasium.make(f"elcano/{impossible(app)}", max_steps=3)
    rewards = []
    for answer in ("N/A", "done"):
        observation, info = env.reset(seed=7)
        assert info["task"].startswith(impossible(app)) and env.observation_space.contains(observation)
        assert ".localhost:" in observation["url"] and "RootWebArea" in observation["axtree_txt"]
        _, reward, terminated, *_ = env.step(f"ANSWER; {answer}")
        rewards.append((reward, terminated))
    env.close()
    assert rewards == [(1.0, True), (0.0, True)]


def test_trouble_can_be_overcome_and_its_pages_read_the_servers_clock(app: Application) -> None:
    trouble = ("expiry=1", "popups=0.9", "errors=0.3", "delay=0.05", "seed=1")
    ways = {"sign in": r"link '(Sign in again)'", "close": r"button '(?:Accept|No, thanks|Later)'", "again": r"'50\d "}
    with environments.make("apps", env_tasks=(impossible(app),), trouble=trouble, max_steps=40) as env:
        view, met = env.reset(), set()
        for _ in range(30):
            tree = view.seen.tree
            way = next((name for name, pattern in ways.items() if re.search(pattern, tree)), "")
            met.add(way)
            found = re.search(rf"\[(\d+)\] {ways[way]}", tree) if way in ("sign in", "close") else None
            view, *_ = env.step(f"Thought: t\n\nAction: {f'Click [{found[1]}]' if found else 'Restart'}")
            if way == "close":
                assert not re.search(ways[way], view.seen.tree)
            if met >= ways.keys():
                break
        assert met >= ways.keys(), met
        page = env._inner.episodes[0]._environment.page
        said = run_in_background(page.send("Runtime.evaluate", {"expression": "new Date().toISOString()"}))
        assert said["result"]["value"].startswith("2026-01-15T09:")
        _, reward, *_ = env.step("Thought: t\n\nAction: ANSWER; N/A")
        assert reward == 1.0


def test_nothing_is_left_of_a_program_that_was_killed(app: Application) -> None:
    program = f"""if True:
        import environments, time
        env = environments.make("apps", env_tasks=("{app.name}",))
        env.reset()
        print(env._inner.episodes[0]._environment.server.state.parent, flush=True)
        time.sleep(60)
    """
    process = subprocess.Popen([sys.executable, "-c", program], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    folder = process.stdout.readline().strip()
    assert Path(folder).is_dir()
    process.kill()
    process.wait()
    wait_until(lambda: not Path(folder).exists() and not _naming(folder), 10)


def _naming(folder: str) -> list[int]:
    """Processes whose command line names it."""
    return [
        one.pid for one in psutil.process_iter(["cmdline"]) if any(folder in word for word in one.info["cmdline"] or ())
    ]
