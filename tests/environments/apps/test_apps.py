"""Applications without the applications: wordings, ground truth and checkers on made states, the router."""

import asyncio
import json
import pickle
import random
import subprocess
import sys
from functools import partial
from typing import Any

import httpx
import pytest

from common.errors import UserError
from common.processes import listen
from data.task import Task
from environments.apps import make_tasks
from environments.apps.__main__ import main as list_command
from environments.apps.application import Application, app_names, make_app
from environments.apps.changes import changes, digest
from environments.apps.fava import check as fava
from environments.apps.hledger import check as hledger
from environments.apps.installing import debian_packages
from environments.apps.router import COOKIE, Router
from environments.apps.templates import NOT_POSSIBLE, State, make_task, parse
from environments.apps.world import World
from environments.ground_truth import find_fault
from tests.answering import Request, answering
from tests.conftest import ROOT
from tests.environments.made_states import MADE_STATES

TEMPLATES = [(name, template) for name in app_names() for template in make_app(name).module("tasks").TEMPLATES]
SEEDS = range(3)


def task_of(app: str, template: str, seed: int) -> Task:
    return make_task(make_app(app), template, seed, State(MADE_STATES[app]))


def fault(app: str, task: Task, answer: str, place: str, after: list[dict[str, Any]]) -> str:
    return find_fault(task, answer, {"place": place, **changes(MADE_STATES[app], after)})


def right_end(app: str, task: Task) -> tuple[str, str, list[dict[str, Any]]]:
    """The answer, place and records of who did what was asked."""
    wanted = task.eval["site_state"]
    after = [record for record in MADE_STATES[app] if record not in wanted["removed"]] + wanted["added"]
    [answer] = task.eval.get("reference_answers", {}).get("must_include", ["done"])
    return answer, wanted.get("place", "/"), after


def wrong_ends(app: str, task: Task) -> dict[str, tuple[str, str, list[dict[str, Any]]]]:
    """Ends that look right at first sight."""
    answer, place, after = right_end(app, task)
    before, wanted = MADE_STATES[app], task.eval["site_state"]
    other = next(record for record in before if record not in wanted["removed"])
    ends = {
        "something else changed too": (answer, place, [*after, {**other, "changed": "too"}]),
        "something else is gone": (answer, place, [record for record in after if record is not other]),
    }
    if "reference_answers" in task.eval:
        truth = task.eval["reference_answers"]
        ends["no answer"] = ("", place, after)
        ends["another answer"] = ("done", place, after)
        ends["part of it"] = (answer[:-1], place, after)
        if truth["must_exclude"]:
            ends["all that there is"] = (" ".join([answer, *truth["must_exclude"]]), place, after)
            ends["cannot be done"] = (NOT_POSSIBLE, place, after)
    elif "place" in wanted:
        ends["nothing done"] = (answer, "/", after)
        ends["a page below"] = (answer, place + "0", after)
        ends["a page above"] = (answer, place.rpartition("/")[0], after)
    elif not wanted["added"]:
        [gone] = wanted["removed"]
        alike = [record for record in before if record["kind"] == gone["kind"] and record != gone]
        ends["nothing done"] = (answer, place, before)
        ends["another one deleted"] = (answer, place, [record for record in before if record != alike[0]])
        ends["two deleted"] = (answer, place, [record for record in after if record != alike[-1]])
        ends["emptied, not deleted"] = (answer, place, [*after, _changed_values(gone, {})])
    else:
        added, removed = wanted["added"], wanted["removed"]
        ends["nothing done"] = (answer, place, before)
        ends["done twice"] = (answer, place, [*after, added[0]])
        ends["undone again, and more"] = (answer, place, [*before, added[0]] if removed else before[1:])
        changed = _changed_values(added[0], removed[0] if removed else {})
        ends["another value"] = (answer, place, [changed if record is added[0] else record for record in after])
        if removed:
            same = [record for record in before if record["kind"] == removed[0]["kind"] and record != removed[0]]
            new = {name: value for name, value in added[0].items() if value != removed[0].get(name)}
            moved = [{**record, **new} if record is same[0] else record for record in before]
            ends["in the wrong place"] = (answer, place, moved)
        else:
            renamed = {name: f"{value}0" if isinstance(value, str) else value for name, value in added[0].items()}
            ends["in the wrong place"] = (answer, place, [*before, {**renamed, "kind": added[0]["kind"]}])
    return ends


def _changed_values(record: dict[str, Any], old: dict[str, Any]) -> dict[str, Any]:
    name = next(
        name for name, value in record.items() if isinstance(value, str) and value != old.get(name) and name != "kind"
    )
    return {**record, name: f"not {record[name]}"}


@pytest.mark.parametrize(("app", "template"), TEMPLATES)
def test_checkers_take_the_right_end_and_refuse_wrong_ones(app: str, template: str) -> None:
    for seed in SEEDS:
        task = task_of(app, template, seed)
        assert not fault(app, task, *right_end(app, task))
        ends = wrong_ends(app, task)
        assert len(ends) >= 5
        for name, end in ends.items():
            assert fault(app, task, *end), f"{task.ques}: {name}"


@pytest.mark.parametrize(("app", "template"), TEMPLATES)
def test_what_was_asked_can_be_told_from_the_words(app: str, template: str) -> None:
    """Of several wordings, and without quotation marks."""
    templates = make_app(app).module("tasks").TEMPLATES
    for seed in range(30):
        task = task_of(app, template, seed)
        instance = templates[template].draw(State(MADE_STATES[app]), random.Random(f"{app} {template} {seed}"))
        asked = parse(templates, task.ques)
        assert asked and (asked.template, asked.slots) == (template, instance.slots)
        assert '"' not in task.ques and "'" not in task.ques.replace("'s ", "s ") and not set("[]") & set(task.ques)
        quoted = make_task(make_app(app), template, seed, State(MADE_STATES[app]), quoted=True)
        assert quoted.ques.replace('"', "") == task.ques and parse(templates, quoted.ques) == asked
        assert all(f'"{value}"' in quoted.ques for value in (*asked.slots.values(), asked.marked) if value)
    assert len(templates[template].wordings) >= 2


@pytest.mark.parametrize("app", app_names())
def test_every_application_has_enough_templates_of_every_family(app: str) -> None:
    tasks, solvers = make_app(app).module("tasks").TEMPLATES, make_app(app).module("solvers").SOLVERS
    families = {template.family for template in tasks.values()}
    assert len(tasks) >= 12 and tasks.keys() == solvers.keys()
    assert families == {"answer", "open", "create", "edit", "constraints", "steps", "impossible"}
    assert 3 <= sum(template.split == "test" for template in tasks.values()) <= len(tasks) // 3


def test_the_same_tasks_come_of_the_same_state() -> None:
    for app, template in TEMPLATES:
        tasks = [task_of(app, template, seed) for seed in range(20)]
        assert tasks == [task_of(app, template, seed) for seed in range(20)]
        assert len({task.ques for task in tasks}) >= 5


def test_task_files_share_no_template_application_or_skin_that_one_of_them_holds_out(
    tmp_path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Application, "seed_records", property(lambda app: MADE_STATES[app.name]))
    files = {}
    for number in range(2):
        make_tasks.main(make_tasks.Config(tmp_path / str(number), tasks_per_template=3))
        files[number] = {path.stem: path.read_text() for path in (tmp_path / str(number)).iterdir()}
    assert files[0] == files[1] and capsys.readouterr().out.count("sha256") == 2 * len(make_tasks.FILES)
    templates = {
        name: {json.loads(line)["id"].partition("--")[0] for line in text.splitlines()}
        for name, text in files[0].items()
    }
    apps = {name: {template.partition(".")[0] for template in found} for name, found in templates.items()}
    assert apps["test_app"] == {"hledger", "mediawiki"} and apps["test_skin"] == {"roundup_devel"}
    assert apps["train"] == apps["test_known"] == apps["test"] == {*app_names()} - apps["test_app"] - apps["test_skin"]
    assert templates["test_known"] <= templates["train"] and not templates["test"] & templates["train"]
    skin = {template.replace("roundup_devel", "roundup") for template in templates["test_skin"]}
    assert skin <= templates["train"] and len(templates["test_app"]) == sum(
        app in apps["test_app"] for app, _ in TEMPLATES
    )


def test_changes_are_records_and_their_order_means_nothing() -> None:
    before = [{"kind": "a", "n": 1}, {"kind": "a", "n": 1}, {"kind": "b", "n": 2}]
    after = [{"n": 2, "kind": "b"}, {"kind": "a", "n": 1}, {"kind": "c", "n": 3}]
    assert changes(before, after) == {"added": [{"kind": "c", "n": 3}], "removed": [{"kind": "a", "n": 1}]}
    assert digest(before) == digest(before[::-1]) != digest(after)


def test_the_router_leads_each_session_to_its_own_server() -> None:
    def echo(number: int, request: Request) -> tuple[int, bytes]:
        said = f"server{number} {request.path} {request.headers.get('Cookie')} {request.headers['Host']} "
        return 200, said.encode() + request.body

    listener = listen(0)
    port = listener.getsockname()[1]

    async def ask(client: httpx.AsyncClient, cookie: str) -> tuple[int, str]:
        headers = {"cookie": cookie, "host": "trac.localhost"} if cookie else {"host": "trac.localhost"}
        answer = await client.post(f"http://127.0.0.1:{port}/page?x=1", content=b"body" * 50_000, headers=headers)
        return answer.status_code, answer.text.replace("body" * 50_000, "BODY")

    async def play(*urls: str) -> None:
        async with Router(listener) as router, httpx.AsyncClient(trust_env=False) as client:
            keys = [router.lead("trac.localhost", int(url.rpartition(":")[2])) for url in urls]
            for number, (key, cookie) in enumerate(keys):
                assert cookie["domain"] == "trac.localhost" and cookie["httpOnly"]
                expected = f"server{number} /page?x=1 a=1; b=2 trac.localhost BODY"
                for sent in (f"{COOKIE}={key}; a=1; b=2", f"a=1; {COOKIE}={key}; b=2", f"a=1; b=2; {COOKIE}={key}"):
                    assert await ask(client, sent) == (200, expected)
                assert "None trac.localhost" in (await ask(client, f"{COOKIE}={key}"))[1]
            for nobody in ("", "a=1", f"{COOKIE}={'0' * 32}"):
                assert (await ask(client, nobody))[0] == 403
            router.forget(keys[0][0])
            assert (await ask(client, f"{COOKIE}={keys[0][0]}"))[0] == 403

    with answering(partial(echo, 0)) as first, answering(partial(echo, 1)) as second:
        asyncio.run(play(first, second))


@pytest.fixture
def made_installed(tmp_path, monkeypatch) -> None:
    """One application as if it were installed."""
    monkeypatch.setenv("ELCANO_APPS", str(tmp_path))
    for folder in (make_app("trac").seed, make_app("trac").program):
        folder.mkdir(parents=True)
        (folder / "whole.json").write_text("{}")


def test_two_worlds_at_the_same_time_never_take_the_same_port(made_installed) -> None:
    one, other = World(), World()
    with one.serve() as said, other.serve():
        assert one.port != other.port and f"on port {one.port} until" in said
        with pytest.raises(UserError, match="cannot listen"):
            listen(one.port)
        sent = pickle.loads(pickle.dumps(one))  # to a node of this machine, which listens itself
        assert sent.port == one.port
        listen(sent.port).close()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["start", "nothing"], "there is no application 'nothing'; known are"),
        (["start", "trac"], "Trac is not installed: python -m environments.apps install trac"),
        (["check"], "no application is installed: python -m environments.apps install"),
        (["start", "trac", "--port", "70000"], "--port must be 0 to 65535"),
    ],
)
def test_what_cannot_be_done_is_one_line(words: list[str], said: str, tmp_path) -> None:
    command = [sys.executable, "-m", "environments.apps", *words]
    home = {"PATH": "/usr/bin:/bin", "ELCANO_APPS": str(tmp_path)}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, env=home)
    assert done.returncode == 2 and said in done.stderr and done.stderr.count("\n") == 1


def test_without_apt_a_debian_package_is_refused_in_one_line(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match="could not be installed: there is no apt-get here"):
        debian_packages(tmp_path / "program", ["fossil=1"])


@pytest.mark.parametrize(
    ("written", "changed"),
    [
        ('2025-03-01 * "Rent"\n  A:Bank  -5 EUR\n  B:Rent\n', False),
        ('2025-03-01 txn "Rent"  ; paid\n    B:Rent 5.0 EUR\n    A:Bank -5.00 EUR\n\n', False),
        ('2025-03-01 ! "Rent"\n  A:Bank  -5 EUR\n  B:Rent 5 EUR\n', True),
        ('2025-03-01 * "Rent"\n  A:Bank  -5.001 EUR\n  B:Rent\n', True),
        ('2025-03-01 * "Rent"\n  A:Bank  -5 USD\n  B:Rent\n', True),
        ('2025-03-01 * "Rent"\n  A:Bank  -5 EUR\n  B:Rent\ninclude "x"\n', True),
        ('2025-03-01 * "Rent" #tag\n  A:Bank  -5 EUR\n  B:Rent\n', True),
    ],
)
def test_a_ledger_is_compared_by_what_it_says(written: str, changed: bool) -> None:
    before = fava.parse('2025-03-01 * "Rent"\n  A:Bank  -5.00 EUR\n  B:Rent   5.00 EUR\n')
    assert any(changes(before, fava.parse(written)).values()) == changed


@pytest.mark.parametrize(
    ("written", "changed"),
    [
        ("2025-03-01 Rent\n  a:bank  -5 EUR\n  b:rent\n", False),
        ("2025/3/1 Rent\n    b:rent \t5.0 EUR\n    a:bank  -5.00 EUR\n\n", False),
        ("2025-03-01 * Rent\n  a:bank  -5 EUR\n  b:rent\n", True),
        ("2025-03-01 (7) Rent\n  a:bank  -5 EUR\n  b:rent\n", True),
        ("2025-03-01 Rent  ; late\n  a:bank  -5 EUR\n  b:rent\n", True),
        ("2025-03-01 Rent\n  a:bank  -5.001 EUR\n  b:rent\n", True),
        ("2025-03-01 Rent\n  a:bank  -5 USD\n  b:rent\n", True),
        ("2025-03-01 Rent\n  a:bank  -5 EUR\n  b:rent\ninclude x\n", True),
    ],
)
def test_a_journal_is_compared_by_what_it_says(written: str, changed: bool) -> None:
    before = hledger.parse("2025-03-01 Rent\n  a:bank  -5.00 EUR\n  b:rent   5.00 EUR\n")
    assert any(changes(before, hledger.parse(written)).values()) == changed


@pytest.mark.parametrize(
    ("app", "url", "place"),
    [
        ("fava", "/book/journal/?charts=false&time=2025-02-01+to+2025-02-28#context-1", "/book/journal?time=2025-02"),
        ("fava", "/book/journal/?time=2025-02-01+-+2025-02-27", "/book/journal?time=2025-02-01 - 2025-02-27"),
        ("fava", "/book/account/Assets:Bank/", "/book/account/Assets:Bank"),
        ("hledger", "/register?q=inacct%3Aexpenses%3Ahall%20", "/register?inacct:expenses:hall"),
        ("hledger", "/register?q=date:2025-02+inacct%3Aa%3Ab", "/register?date:2025-02 inacct:a:b"),
        ("hledger", '/journal?q=date:"2025-02"', "/journal?date:2025-02"),
        ("hledger", "/journal?q=date:2025/02", "/journal?date:2025-02"),
        ("hledger", "/journal?q=date:2025-02-01..2025-03-01", "/journal?date:2025-02"),
        ("hledger", "/journal?q=date:2025-02-01..2025-02-28", "/journal?date:2025-02-01..2025-02-28"),
        ("hledger", "/journal?q=date:feb+2025", "/journal?2025 date:feb"),
        ("hledger", "/journal?q=", "/journal"),
        ("fossil", "/tktview/0cbe43cbf1c2e1b7", "/tktview/0cbe43cbf1"),
        ("fossil", "/tktview?name=0cbe43cbf1c2e1b7", "/tktview/0cbe43cbf1"),
        ("fossil", "/wiki?name=Harbor+Aldvik&p", "/wiki/Harbor Aldvik"),
        ("mediawiki", "/index.php/Amber_palm?x=1#Top", "/Amber palm"),
        ("mediawiki", "/index.php?title=Amber_palm&action=history", "/Amber palm?history"),
        ("mediawiki", "/index.php?title=Talk:Amber_palm&oldid=7&action=view", "/Talk:Amber palm?oldid=7"),
        ("mail", "/?_task=mail&_mbox=Events&_page=2#", "/Events"),
        ("mail", "/?_task=mail&_mbox=INBOX&_filter=FLAGGED&_scope=base", "/INBOX?FLAGGED"),
        ("mail", "/?_task=addressbook&_source=0&_gid=2", "/addressbook/2"),
        ("oscar", "/catalogue/teal-quilt_7/?page=2", "/catalogue/teal-quilt_7"),
        ("machina", "/forum/outings-7/topic/tasting-2/?post=9#9", "/forum/outings-7/topic/tasting-2"),
        ("fossil", "/wikiedit?name=Harbor+Aldvik", "/wikiedit/Harbor Aldvik"),
        ("wagtail", "/admin/pages/52/edit/?next=%2F#tab-promote", "/admin/pages/52/edit"),
        ("pretalx", "/orga/event/orchard/submissions/BMW/?next=%2F#id_room", "/orga/event/orchard/submissions/BMW"),
    ],
)
def test_a_page_is_known_by_what_it_is_about(app: str, url: str, place: str) -> None:
    assert make_app(app).module("check").place(f"http://{app}.localhost:7070{url}") == place


def test_the_list_says_each_name_whole_in_a_narrow_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert list_command(["list"]) == 0
    words = capsys.readouterr().out.split()
    assert set(app_names()) <= set(words) and "…" not in "".join(words)
