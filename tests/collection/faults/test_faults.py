"""Everything that goes wrong on the web, made to happen: each trajectory ends as it should, and the run goes on.

What kills the collector or a whole browser is in test_run.py.
"""

import asyncio
import dataclasses
import os
import shutil
import signal
import ssl
import subprocess
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from data.trajectory import Trajectory, read_trajectory
from environments.browser.chromium import launch
from environments.browser.config import BrowserConfig
from environments.browser.environment import BrowserEnvironment
from environments.browser.observation.observe import observe
from environments.environment import Observation
from environments.faults import BrowserError
from tests.collection.collector import Collector, task
from tests.environments import website
from tests.environments.conftest import OneBrowser, open_browser
from tests.environments.steps import click, do


@pytest.fixture(scope="module")
def url(wild: ThreadingHTTPServer) -> str:
    return f"http://127.0.0.1:{wild.server_address[1]}"


@pytest.fixture(scope="module")
def secure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A website whose certificate nobody signed."""
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl to make a certificate")
    folder = tmp_path_factory.mktemp("tls")
    command = "openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=localhost -days 2 -keyout key.pem -out cert.pem"
    subprocess.run(command.split(), cwd=folder, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    server = website.start(context=context)
    yield f"https://127.0.0.1:{server.server_address[1]}/"
    website.stop(server)


# Start page and script; how the trajectory ends; what its reason, or the last page it saw, says.
ENDS = {
    "dialogs": ("/dialogs", "Click {'Ask'} | ANSWER; x", "finished", "confirmed true as Ada"),
    "dialogs without end": ("/dialogs", "Click {Ask for ever} | ANSWER; x", "invalid", "dialogs in a row"),
    "beforeunload": ("/beforeunload", "Type {Name}; Ada | Click {Leave} | ANSWER; x", "finished", "All is well"),
    "endless loop": ("/loop", "Click {Start loop} | ANSWER; x", "invalid", "got no answer"),
    "download": ("/", "Click {to file} | Click {to fine} | ANSWER; x", "finished", "All is well"),
    "many elements": ("/many", "Scroll [WINDOW]; down | ANSWER; x", "finished", "row 2"),
    "animation": ("/animation", "Click {Press} | ANSWER; x", "finished", "stopped for me"),
    "hanging page": ("/", "Click {to hanging} | Click {to fine} | ANSWER; x", "finished", "All is well"),
    "slow page": ("/slow?ms=3000", "ANSWER; x", "finished", "late content"),
    "cut off": ("/cut", "ANSWER; x", "finished", "It begins"),
    "cut off at once": ("/cut-at-once", "ANSWER; x", "invalid", "broke before anything of the page came"),
    "windows": ("/windows", "Click {Open many} | ANSWER; x", "finished", "All is well"),
    "windows without end": ("/more-windows", "Wait | ANSWER; x", "finished", "One more"),
    "captcha in a form": ("/login", "ANSWER; x", "finished", "Sign up"),
    "captcha": ("/captcha", "ANSWER; x", "blocked", "Just a moment"),
    "captcha later": ("/", "Click {to captcha} | ANSWER; x", "blocked", "Just a moment"),
    "basic auth": ("/basic", "ANSWER; x", "blocked", "HTTP 401"),
    "access denied": ("/", "Click {to forbidden} | ANSWER; x", "blocked", "Access Denied"),
    "unavailable": ("/unavailable", "ANSWER; x", "invalid", "HTTP 503"),
    "redirect loop": ("/loop-redirect", "ANSWER; x", "invalid", "ERR_TOO_MANY_REDIRECTS"),
    "no answer": ("/", "Click {to empty} | ANSWER; x", "invalid", "could not be loaded any more"),
    "certificate": ("SECURE", "ANSWER; x", "invalid", "ERR_CERT_AUTHORITY_INVALID"),
}


@pytest.fixture(scope="module")
def ends(url: str, secure: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Trajectory]:
    """All of them taken in two runs (five faults in a row would end one), several at a time."""
    found = {}
    names = [name for name, end in ENDS.items() if end[2] != "invalid"]
    faults = [name for name, end in ENDS.items() if end[2] == "invalid"]
    for part in ([*faults[:4], *names], [*faults[4:], "slow page"]):
        collector = Collector(tmp_path_factory.mktemp("run"))
        tasks = [task(name, ENDS[name][0].replace("SECURE", secure), ENDS[name][1]) for name in part]
        for fields in tasks:
            fields["web"] = fields["web"] if fields["web"].startswith("https:") else url + fields["web"]
        done = collector.run(tasks, api_localhost=f"{url}/predict", num_sessions=4, max_fault_retries=0)
        assert done.returncode == 0, done.stderr
        found |= {name: read_trajectory(collector.results / f"taskT--{name}") for name in part}
    return found


@pytest.mark.parametrize("name", ENDS)
def test_a_trajectory_ends_as_it_should(ends: dict[str, Trajectory], name: str) -> None:
    _, _, status, words = ENDS[name]
    trajectory = ends[name]
    assert trajectory.status == status, trajectory.reason
    assert words in (trajectory.trees[-1] if status == "finished" else trajectory.reason)
    if status != "finished":
        assert trajectory.outcome.verdict == status


def test_a_website_that_breaks_its_pages_does_not_end_the_run_of_others(url: str, tmp_path: Path) -> None:
    """Its port on 0.0.0.0 stands for a website elsewhere; one on this machine that is broken six times ends the run."""
    elsewhere = url.replace("127.0.0.1", "0.0.0.0")
    for web, returncode in ((elsewhere, 0), (url, 2)):
        collector = Collector(tmp_path / str(returncode))
        collector.folder.mkdir()
        tasks = [task(number, f"{web}/dialogs", "Click {Ask for ever} | ANSWER; x") for number in range(6)]
        flags = {"num_sessions": 1, "max_fault_retries": 0, "private_hosts": web.removeprefix("http://")}
        done = collector.run(
            [*tasks, task("fine", f"{web}/fine", "ANSWER; y")], api_localhost=f"{url}/predict", **flags
        )
        assert done.returncode == returncode, done.stderr
        assert len(collector.complete()) == (7 if web == elsewhere else 5)


def test_the_agent_is_told_what_happened(ends: dict[str, Trajectory]) -> None:
    notes = {name: " ".join(step.notes for step in trajectory.steps) for name, trajectory in ends.items()}
    assert "The file table.csv was downloaded." in notes["download"]
    assert "The next page did not answer within 15 s" in notes["hanging page"]
    assert 'dialog, which was accepted: "two"' in notes["dialogs"]


@pytest.mark.parametrize(
    "is_asked_for_first", [True, pytest.param(False, marks=pytest.mark.slow)], ids=["before", "meanwhile"]
)
def test_a_document_that_never_comes_does_not_keep_the_page_from_being_observed(
    browser: OneBrowser, url: str, monkeypatch: pytest.MonkeyPatch, is_asked_for_first: bool
) -> None:
    """Asked for so late that the page was at rest before; until an answer comes, Chromium draws nothing."""
    monkeypatch.setattr("environments.browser.page.settle.ARRIVAL_CAP_S", 1.0)

    async def run() -> tuple[str, str]:
        async with browser.page(f"{url}/fine") as page:
            leaving = asyncio.create_task(page.send("Page.navigate", {"url": f"{url}/hanging"}))
            await asyncio.sleep(0)  # it is asked for first
            while is_asked_for_first and not page.activity.navigating:
                await asyncio.sleep(0.01)
            seen = await BrowserEnvironment(page, BrowserConfig()).observe_once()
            await asyncio.gather(leaving, return_exceptions=True)
            return seen.tree, " ".join(page.take_messages())

    tree, notes = browser.wait(run())
    assert "All is well" in tree
    assert "did not answer within 1 s" in notes


def test_a_tree_without_its_root_is_looked_at_again(
    browser: OneBrowser, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Chromium gives it of a document that is just being replaced, as when Roundcube has sent a mail."""
    looks = 0

    async def see(*asked: Any) -> Observation:
        nonlocal looks
        looks += 1
        seen = await observe(*asked)
        return dataclasses.replace(seen, tree="", nodes={}) if looks == 1 else seen

    monkeypatch.setattr("environments.browser.environment.observe", see)

    async def run() -> str:
        async with browser.page(f"{url}/fine") as page:
            return (await BrowserEnvironment(page, BrowserConfig()).observe_once()).tree

    assert "All is well" in browser.wait(run()) and looks == 2


def test_a_killed_renderer_ends_only_its_own_pages(browser: OneBrowser, url: str) -> None:
    async def run() -> str:
        async with browser.page(f"{url}/fine") as page:
            processes = (await page.browser.connection.send("SystemInfo.getProcessInfo"))["processInfo"]
            for process in processes:
                if process["type"] == "renderer":
                    os.kill(process["id"], signal.SIGKILL)
            await asyncio.sleep(0.5)
            with pytest.raises(BrowserError, match="the page crashed"):
                await observe(page, "released")
        async with browser.page(f"{url}/fine") as page:
            return (await observe(page, "released")).tree

    assert "All is well" in browser.wait(run())


@pytest.mark.slow
def test_a_page_that_fills_its_memory_ends_only_its_own_trajectory(
    url: str, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launch, "FLAGS", (*launch.FLAGS, "--js-flags=--max-old-space-size=128"))
    for browser in open_browser(tmp_path_factory):
        with pytest.raises(BrowserError, match="the page crashed"):
            do(browser, f"{url}/memory", click("Fill memory"))
        assert "All is well" in do(browser, f"{url}/fine")[0]


@pytest.mark.slow
def test_a_start_page_that_never_answers_is_invalid(url: str, tmp_path: Path) -> None:
    collector = Collector(tmp_path)
    tasks = [task("hanging", f"{url}/hanging", "ANSWER; x"), task("fine", f"{url}/fine", "ANSWER; y")]
    done = collector.run(tasks, api_localhost=f"{url}/predict", max_fault_retries=0)
    assert done.returncode == 0, done.stderr
    assert "no answer in 30 s" in read_trajectory(collector.results / "taskT--hanging").reason
    assert read_trajectory(collector.results / "taskT--fine").answer == "y"
