"""WebArena's configuration files: placeholders, login state, what its programs become, pages read in the browser."""

import asyncio
import json
import os
import subprocess
import sys
import time
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from common.errors import UserError
from data.task import Task, read_tasks
from environments.browser.storage_state import MAX_BYTES, check_storage_states, read_storage_state
from environments.faults import PageError
from environments.webarena import magento
from environments.webarena.addresses import fill_placeholders
from environments.webarena.final_pages import ask, check_programs, parse_call, read_final_pages, reddit_post_url
from environments.webarena.tasks import read_configurations, to_tasks
from environments.webarena.world import World
from tests.answering import Request, answering
from tests.conftest import ROOT

CONFIGURATION = {
    "task_id": 21,
    "sites": ["shopping"],
    "require_login": True,
    "storage_state": "./.auth/shopping_state.json",
    "start_url": "__SHOPPING__/item.html",
    "intent": "List the reviewers who mention small ear cups",
    "eval": {
        "eval_types": ["string_match"],
        "reference_answers": {"must_include": ["Joseph Brzezinski"]},
        "reference_url": "__SHOPPING__/item.html",
        "program_html": [],
    },
}


def test_the_command_fills_addresses_and_writes_all_three(tmp_path, monkeypatch):
    raw = tmp_path / "test_webarena_lite.raw.json"
    second = {**CONFIGURATION, "task_id": 44, "sites": ["map"], "start_url": "__MAP__", "storage_state": None}
    raw.write_text(json.dumps([CONFIGURATION, second]))
    monkeypatch.setenv("SHOPPING", "http://shop.test:7770/")
    monkeypatch.delenv("MAP", raising=False)
    command = [
        sys.executable,
        "environments/webarena/generate_test_data.py",
        "--raw_file",
        str(raw),
        "--state_dir",
        "/s",
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 2 and "needs the address of MAP" in done.stderr and len(list(tmp_path.iterdir())) == 1
    monkeypatch.setenv("MAP", "http://map.test:3000")
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    tasks = read_tasks(tmp_path / "test_webarena_lite.jsonl")
    assert [task.id for task in tasks] == ["webarena--21", "webarena--44"]
    assert tasks[0].web == tasks[0].eval["reference_url"] == "http://shop.test:7770/item.html"
    assert tasks[0].storage_state == "/s/.auth/shopping_state.json" and tasks[1].storage_state == ""
    assert (tasks[0].backend, tasks[0].changes_backend) == ("shopping", False)
    assert json.loads((tmp_path / "test_webarena_lite" / "1.json").read_text())["start_url"] == "http://map.test:3000"


def test_what_evaluators_know_is_no_placeholder():
    assert fill_placeholders("func:f('__last_url__', __page__) __MAP__", {"MAP": "m"}, "x").endswith("__page__) m")


def test_a_configuration_without_its_fields_is_refused(tmp_path):
    path = tmp_path / "raw.json"
    path.write_text(json.dumps([CONFIGURATION, {"task_id": 3}]))
    with pytest.raises(UserError, match="entry 1 is no WebArena task; it needs task_id, intent"):
        read_configurations(path, {"SHOPPING": "http://shop.test"})


def test_a_task_whose_ground_truth_looks_at_the_site_changes_it():
    """The released files say `require_reset: false` of all, also of those that post and buy."""
    looks = {**CONFIGURATION, "task_id": 5, "eval": {"eval_types": ["program_html"], "program_html": []}}
    says = {**CONFIGURATION, "task_id": 6, "require_reset": True}
    assert [task.changes_backend for task in to_tasks([CONFIGURATION, looks, says])] == [False, True, True]


def test_programs_are_looked_up_and_never_run():
    comment = "http://r.test/f/books/12/a-title/-/comment/3"
    assert (
        asyncio.run(ask(None, "func:reddit_get_post_url('__last_url__')", comment, "t")) == "http://r.test/f/books/12/"
    )
    assert reddit_post_url("http://r.test/user/x") == "http://r.test/user/x"
    assert parse_call("func:gitlab_get_project_memeber_role(__page__, 'byte')", "t")[1] == ["__page__", "byte"]
    for hostile in (
        "func:__import__('os').system('true')",
        "func:f(open('x'))",
        "func:shopping_get_latest_order_url()",
    ):
        with pytest.raises(UserError):
            asyncio.run(ask(None, hostile, "http://x/", "t"))


def test_pages_are_read_in_the_browser(browser, url):
    targets = [
        {"url": "last", "locator": ""},
        {"url": f"{url}/second", "locator": "document.querySelector('h1').outerText"},
        {"url": "last", "locator": "document.querySelector('#nowhere').outerText"},
        {
            "url": f"{url}/",
            "locator": "[...document.querySelectorAll('a')].length",
            "prep_actions": ["document.querySelector('a').remove()"],
        },
    ]
    task = Task("wa--1", "q", f"{url}/", eval={"eval_types": ["program_html"], "program_html": targets})

    async def read():
        async with browser.page(f"{url}/") as page:
            return await read_final_pages(page, task)

    first, heading, nothing, count = browser.wait(read())
    assert "<h1>Harbour</h1>" in first and heading == "Second page" and nothing == "" and count == "1"


def shop(request: Request) -> tuple[int, Any]:
    """Magento's API, as far as WebArena asks it: two orders a shop, reviews of one product."""
    if request.method == "POST":
        return (200, "the token") if request.body == {"username": "ann", "password": "a:b"} else (401, "no")
    if request.headers["authorization"] != "Bearer the token":
        return 401, "no"
    url = urlsplit(request.path)
    if url.path == "/rest/V1/orders" and parse_qs(url.query)["searchCriteria[sortOrders][0][direction]"] == ["DESC"]:
        return 200, {"items": [{"increment_id": "000000190"}]}
    if url.path != "/rest/V1/products/B%2F1/reviews":
        return 200, []
    ratings = [{"rating_name": "Rating", "percent": 80}]
    return 200, [{"nickname": "Old", "ratings": ratings}, {"nickname": "Emma", "ratings": ratings}]


@pytest.mark.parametrize("target", ["last", {"url": "last"}, {"url": None, "locator": ""}])
def test_a_target_without_its_fields_is_refused(target):
    task = Task("wa--1", "q", "http://x/", eval={"eval_types": ["program_html"], "program_html": [target]})
    with pytest.raises(UserError, match=r"task wa--1: program_html holds .* which has no url and locator"):
        check_programs([task])


def test_the_shops_api_is_asked_for_orders_and_reviews(monkeypatch):
    targets = [{"url": "func:shopping_get_latest_order_url()", "locator": "func:gitlab_get_project_memeber_role('x')"}]
    task = Task("wa--1", "q", "http://x/", eval={"eval_types": ["program_html"], "program_html": targets})
    monkeypatch.delenv("SHOPPING_API_LOGIN", raising=False)
    with pytest.raises(UserError, match="set SHOPPING=http://"):
        check_programs([task])
    with answering(shop) as address:
        monkeypatch.setenv("SHOPPING", f"{address}/")
        monkeypatch.setenv("SHOPPING_API_LOGIN", "ann:a:b")
        check_programs([task])
        assert asyncio.run(magento.latest_order_url()) == f"{address}/sales/order/view/order_id/190/"
        assert asyncio.run(magento.latest_review_author("B/1")) == "Emma"
        assert asyncio.run(magento.latest_review_rating("B/1")) == "80"
        assert asyncio.run(magento.latest_review_author("unknown")) == ""
        monkeypatch.setenv("SHOPPING_API_LOGIN", "ann:wrong")
        with pytest.raises(PageError, match="401"):
            asyncio.run(magento.latest_order_url())
    targets[0]["locator"] = "func:run_anything('x')"
    with pytest.raises(UserError, match="'run_anything' of its ground truth is not known"):
        check_programs([task])


def test_a_storage_state_that_no_task_can_begin_with_is_refused_before_the_run(tmp_path):
    """Devices without end, pipes to which nobody writes, folders, what is too large or something else."""
    state = {"cookies": [{"name": "session"}], "origins": []}
    good = tmp_path / "good.json"
    good.write_text(json.dumps(state))
    os.mkfifo(tmp_path / "pipe")
    contents = {"large": " " * (MAX_BYTES + 1), "torn": '{"cookies": [', "list": "[]", "deep": "[" * 100_000}
    contents |= {"words": '{"cookies": ["x"]}', "places": '{"cookies": [], "origins": 5}'}
    for name, content in contents.items():
        (tmp_path / name).write_text(content)
    fine = Task(id="a", ques="q", web="http://a.test/", storage_state=str(good))
    check_storage_states([fine, Task(id="b", ques="q", web="http://a.test/")])
    assert read_storage_state(good) == state
    for path, complaint in (
        ("/dev/zero", "not a regular file"),
        (tmp_path / "pipe", "not a regular file"),
        (tmp_path, "not a regular file"),
        (tmp_path / "large", "more than 4 MB"),
        (tmp_path / "torn", "not valid JSON"),
        (tmp_path / "deep", "nested too deeply"),
        (tmp_path / "list", "no storage state"),
        (tmp_path / "words", "no storage state"),
        (tmp_path / "places", "'origins' are no list"),
        (tmp_path / "nowhere", "No such file"),
        ("a\0b", "null byte"),
    ):
        tasks = [fine, *(Task(id=name, ques="q", web="http://a.test/", storage_state=str(path)) for name in "xy")]
        with pytest.raises(UserError, match=f"^task x: its storage_state .*{complaint}"):
            check_storage_states(tasks)


def test_the_reset_command_runs_and_says_when_it_fails(tmp_path, monkeypatch):
    def restore(command, backend=""):
        return asyncio.run(World(reset_command=command).restore(backend))

    assert not restore("")
    assert restore(f'echo "of $BACKEND" > {tmp_path / "reset"}', "shop")
    assert (tmp_path / "reset").read_text() == "of shop\n"
    with pytest.raises(UserError, match="ended with code 1: no output"):
        restore("false")
    with pytest.raises(UserError, match=r"ended with code 127: .*no-such-command-here"):
        restore("no-such-command-here")
    monkeypatch.setattr("environments.command.TIMEOUT_S", 0.2)
    with pytest.raises(UserError, match="took longer"):
        restore(f"(sleep 2; touch {tmp_path / 'late'}) & wait")
    time.sleep(2.5)
    assert not (tmp_path / "late").exists()  # what it started is ended, too
