"""`run.py` as a person uses it: real browser, real HTTP, resume after kill -9, one clear line for each mistake."""

import base64
import contextlib
import io
import json
import os
import re
import signal
import subprocess
import sys
import threading
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from common.errors import UserError
from common.network.stand_in import completion
from common.seeds import derive_seed
from data.actions.action import CANNOT_EXECUTE, FORMAT_ERROR
from data.trajectory import is_complete, read_outcome, read_trajectory
from environments.browser.chromium import launch
from tests.answering import Request, answering
from tests.collection.collector import Collector, task
from tests.conftest import ROOT, in_foreground
from tests.environments import website
from tests.waiting import wait_until


def test_a_trajectory_holds_what_the_agent_saw_and_said(
    collector: Collector, site: ThreadingHTTPServer, url: str
) -> None:
    script = "Click {Next page} | !I do not know | Click {nothing} | GoBack | ANSWER; the second page"
    done = collector.run(
        [task(1, f"{url}/", script)], api_localhost=f"{url}/predict", max_attached_imgs=2, seed=5, top_p=0.9
    )
    assert done.returncode == 0, done.stderr
    trajectory = read_trajectory(collector.results / "taskT--1")
    assert trajectory.status == "finished" and trajectory.answer == "the second page"
    assert [step.feedback for step in trajectory.steps] == ["", "", FORMAT_ERROR, CANNOT_EXECUTE, ""]
    assert "Second page" in trajectory.trees[1] and "Harbour" in trajectory.trees[4]
    assert trajectory.screenshot(5).read_bytes().startswith(b"\x89PNG")
    assert trajectory.provenance["viewport"] == [1024, 768]
    assert trajectory.provenance["sampling"] == {"top_p": 0.9}  # this server does not say what it applied
    last = site.requests[-1]
    assert len(last["images"]) == 2 and "temperature" not in last
    seeds = [request["seed"] for request in site.requests]
    assert seeds == [derive_seed(derive_seed(5, "T--1", None), number) for number in range(1, 6)]
    assert len(set(seeds)) == 5
    assert [step.sampling for step in trajectory.steps] == [{"top_p": 0.9, "seed": seed} for seed in seeds]


def test_slow_judges_hold_up_no_other_session(collector: Collector, url: str) -> None:
    """After the first, which finds out the format, no verdict is given before all sessions have asked for theirs."""
    is_first, arrived = threading.Lock(), threading.Barrier(5)

    def judge(request: Request) -> tuple[int, Any]:
        if not is_first.acquire(blocking=False):
            with contextlib.suppress(threading.BrokenBarrierError):
                arrived.wait(timeout=60)
        return 200, completion("judge", '{"reasoning": "It is done.", "verdict": "SUCCESS"}', [])

    how = {"judge": "webvoyager", "api_eval_model": "judge", "eval_timeout_s": 100, "num_sessions": 6}
    tasks = [task(number, f"{url}/", f"Restart | ANSWER; done {number}") for number in range(6)]
    with answering(judge) as endpoint:
        done = collector.run(tasks, api_localhost=f"{url}/predict", eval_api_base=f"{endpoint}/v1", **how)
    assert done.returncode == 0, done.stderr
    assert not arrived.broken


def test_ctrl_c_waits_for_no_slow_judge(collector: Collector, url: str) -> None:
    """The verdict that never came is asked for by the next run."""
    asked, never = threading.Event(), threading.Event()

    def judge(request: Request) -> tuple[int, Any]:
        asked.set()
        never.wait(timeout=200)
        return 200, completion("judge", "Verdict: SUCCESS", [])

    flags = {"api_localhost": f"{url}/predict", "judge": "webvoyager", "api_eval_model": "judge"}
    with answering(judge) as endpoint:
        words = collector.arguments([task(1, f"{url}/", "ANSWER; done")], **flags, eval_api_base=f"{endpoint}/v1")
        run = subprocess.Popen([sys.executable, *words], cwd=ROOT, stderr=subprocess.PIPE, preexec_fn=in_foreground)
        assert asked.wait(timeout=120)
        run.send_signal(signal.SIGINT)
        _, errors = run.communicate(timeout=60)
        never.set()
    assert b"the same command goes on from there" in errors and b"Traceback" not in errors
    [folder] = collector.complete()
    assert read_outcome(folder) is None


@pytest.mark.parametrize("hide", ["screenshots", "tree"])
def test_what_is_hidden_from_the_agent_is_kept_all_the_same(
    collector: Collector, site: ThreadingHTTPServer, url: str, hide: str
) -> None:
    done = collector.run([task(1, f"{url}/", "ANSWER; done")], api_localhost=f"{url}/predict", hide=hide)
    assert done.returncode == 0, done.stderr
    trajectory = read_trajectory(collector.results / "taskT--1")
    assert "RootWebArea" in trajectory.trees[0] and trajectory.provenance["hide"] == hide
    last = site.requests[-1]
    assert ("RootWebArea" in json.dumps(last["conversations"])) == (hide != "tree")
    images = [base64.b64decode(last["images"][0]), trajectory.screenshot(1).read_bytes()]
    shown, kept = (Image.open(io.BytesIO(image)).convert("RGB") for image in images)
    assert shown.size == kept.size == (1024, 768)
    assert len(kept.getcolors(1024 * 768)) > 1
    assert (shown.getcolors() == [(1024 * 768, (128, 128, 128))]) == (hide == "screenshots")


@pytest.mark.parametrize("text_only", [False, True])
def test_a_chat_endpoint_is_asked_in_its_own_form(
    collector: Collector, site: ThreadingHTTPServer, url: str, text_only: bool
) -> None:
    tasks = [task(1, f"{url}/", "Click {Next page} | ANSWER; done")]
    done = collector.run(tasks, api_base=f"{url}/v1", api_model="some-model", temperature=0.5, text_only=text_only)
    assert done.returncode == 0, done.stderr
    assert read_trajectory(collector.results / "taskT--1").answer == "done"
    last = site.requests[-1]
    assert last["model"] == "some-model" and last["temperature"] == 0.5
    assert last["messages"][0]["role"] == "system"
    assert ("image_url" in json.dumps(last["messages"])) != text_only


def test_what_is_on_this_machine_is_asked_through_no_proxy(
    collector: Collector, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cluster's proxy is set; chromium, site and endpoint are all here."""
    for name in ("http_proxy", "https_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
        monkeypatch.setenv(name.upper(), "http://127.0.0.1:9")
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    tasks = [task(1, f"{url}/", "Click {Next page} | ANSWER; done")]
    done = collector.run(tasks, api_base=f"{url}/v1", api_model="some-model")
    assert done.returncode == 0, done.stderr
    assert read_trajectory(collector.results / "taskT--1").answer == "done"


def test_a_chat_endpoint_is_asked_with_the_trained_prompt(
    collector: Collector, site: ThreadingHTTPServer, url: str
) -> None:
    """The turns and screenshots of `/predict`, and what was sampled is kept."""
    tasks = [task(1, f"{url}/", "Click {Next page} | ANSWER; done")]
    options = {"max_attached_imgs": 2}
    assert (
        collector.run(
            tasks, api_localhost=f"{url}/predict", output_dir=collector.folder / "predict", **options
        ).returncode
        == 0
    )
    predicted = site.requests[-1]
    done = collector.run(tasks, api_base=f"{url}/v1", api_model="policy", prompt="trained", **options)
    assert done.returncode == 0, done.stderr
    asked = site.requests[-1]["messages"]
    assert [message["role"] for message in asked] == ["user", "assistant", "user"]
    for message, turn in zip(asked, predicted["conversations"], strict=True):
        parts = message["content"] if isinstance(message["content"], list) else [{"text": message["content"]}]
        assert "".join(part.get("text", "<image>") for part in parts) == turn["content"]
    trajectory = read_trajectory(collector.results / "taskT--1")
    assert trajectory.provenance["prompt"] == "trained"
    assert [(step.token_ids, step.logprobs) for step in trajectory.steps] == [([11, 12], [-0.5, -0.5])] * 2


def test_sessions_share_nothing_and_leave_their_state(collector: Collector, url: str) -> None:
    """Every trajectory's first visit is visit 1, and the state kept at its end is its own."""
    wanted = {"eval_types": ["site_state"], "site_state": {}}
    scripts = ["ANSWER; one", "Restart | ANSWER; two", "Restart | Restart | ANSWER; three"] * 2
    tasks = [task(number, f"{url}/visits", script, eval=wanted) for number, script in enumerate(scripts)]
    assert collector.run(tasks, api_localhost=f"{url}/predict", num_sessions=3).returncode == 0
    for number in range(6):
        trajectory = read_trajectory(collector.results / f"taskT--{number}")
        assert "Visit 1" in trajectory.trees[0]
        assert trajectory.final_state() == {"visits": number % 3 + 1}


def test_killed_and_started_again_nothing_is_lost_repeated_or_left_running(
    collector: Collector, site: ThreadingHTTPServer, url: str, spawn: Any, tmp_path: Path
) -> None:
    script = "Click {Next page} | GoBack | Click {Next page} | ANSWER; done"
    tasks = [task(number, f"{url}/", script) for number in range(8)]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}  # profiles of this run's browsers lie here
    child = spawn(*collector.arguments(tasks, api_localhost=f"{url}/predict", num_sessions=3), env=environment)
    wait_until(lambda: sum(map(is_complete, collector.folders())) >= 3)
    os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    before = {folder.name: (folder / "trajectory.json").stat().st_ino for folder in collector.complete()}
    assert 3 <= len(before) < 8
    wait_until(lambda: not processes_naming(tmp_path) and not list(tmp_path.glob("elcano-browser-*")))

    assert collector.run(tasks, api_localhost=f"{url}/predict", num_sessions=5).returncode == 0
    assert sorted(folder.name for folder in collector.complete()) == [f"taskT--{number}" for number in range(8)]
    assert all((collector.results / name / "trajectory.json").stat().st_ino == inode for name, inode in before.items())
    assert all(len(read_trajectory(folder).steps) == 4 for folder in collector.complete())
    num_requests = len(site.requests)
    (collector.results / ".arriving" / "taskT--3" / "0a1b").mkdir(parents=True)  # from another node
    assert collector.run(tasks, api_localhost=f"{url}/predict").returncode == 0
    assert len(site.requests) == num_requests  # nothing was left to do
    assert not (collector.results / ".arriving").exists()


def test_collectors_share_an_output_folder_and_never_take_a_task_twice(
    collector: Collector, site: ThreadingHTTPServer, url: str, spawn: Any
) -> None:
    """The first one is stopped in the middle of two tasks, and the second leaves it those two."""
    site.slow_s = 0.5
    tasks = [task(number, f"{url}/", "Wait | ANSWER; done") for number in range(8)]
    first = spawn(*collector.arguments(tasks, api_localhost=f"{url}/predict", num_sessions=2), stderr=subprocess.PIPE)
    wait_until(lambda: site.requests)
    os.kill(first.pid, signal.SIGSTOP)
    try:
        status = run_script(collector, status=collector.results)
        assert re.search(r"^ *2 +running", status.stdout, re.MULTILINE), status.stdout
        arguments = collector.arguments(tasks, api_localhost=f"{url}/predict", num_sessions=3)
        second = spawn(*arguments, stderr=subprocess.PIPE)
        wait_until(lambda: len(collector.complete()) == 6)
    finally:
        os.kill(first.pid, signal.SIGCONT)
    assert first.wait(60) == 0 and second.wait(60) == 0
    assert len(collector.complete()) == 8 and len(site.requests) == 16
    assert [child.stderr.read().count(": 2 steps") for child in (first, second)] == [2, 6]


def test_status_tells_what_became_of_every_task(collector: Collector, url: str, dead_port: int) -> None:
    tasks = [
        task("right", f"{url}/", "ANSWER; yes", eval={"eval_types": ["string_match"], "reference_answers": YES}),
        task("wrong", f"{url}/", "ANSWER; no", eval={"eval_types": ["string_match"], "reference_answers": YES}),
        task("dead", f"http://127.0.0.1:{dead_port}/", "ANSWER; x", eval={"eval_types": ["string_match"]}),
    ]
    done = collector.run(tasks, api_localhost=f"{url}/predict", judge="oracle", max_fault_retries=0)
    assert done.returncode == 0, done.stderr
    unfinished = collector.results / "taskT--unfinished"
    unfinished.mkdir()
    (unfinished / "steps.jsonl").touch()
    status = run_script(collector, status=collector.results)
    assert status.returncode == 0, status.stderr
    for line in ("1 solved", "1 failed", "1 invalid", "1 interrupted", "4 all"):
        assert re.search(rf"^ *{line.replace(' ', ' +')}", status.stdout, re.MULTILINE), status.stdout
    assert_one_line(run_script(collector, status=collector.folder / "nowhere"), "no such folder of trajectories")


def test_a_page_that_cannot_be_reached_is_invalid_and_tried_again_next_time(
    collector: Collector, url: str, dead_port: int
) -> None:
    dead = f"http://127.0.0.1:{dead_port}/"
    tasks = [task("dead", dead, "ANSWER; x"), task("alive", f"{url}/", "ANSWER; y")]
    lost = [task(f"lost-{scheme}", f"{scheme}://no-such-name.invalid/", "ANSWER; x") for scheme in ("http", "https")]
    flags = {"api_localhost": f"{url}/predict", "num_sessions": 4, "max_fault_retries": 0}
    assert collector.run([*tasks, *lost], **flags).returncode == 0
    for scheme in ("http", "https"):
        reason = read_trajectory(collector.results / f"taskT--lost-{scheme}").reason
        assert "(the name no-such-name.invalid was not found: " in reason
    trajectory = read_trajectory(collector.results / "taskT--dead")
    assert trajectory.status == "invalid" and "ERR_CONNECTION_REFUSED" in trajectory.reason
    assert trajectory.outcome.verdict == "invalid"
    tasks = [task("dead", f"{url}/", "ANSWER; x"), tasks[1]]
    assert collector.run(tasks, api_localhost=f"{url}/predict").returncode == 0
    assert read_trajectory(collector.results / "taskT--dead").answer == "x"


def test_nothing_but_faults_is_no_success(collector: Collector, url: str, dead_port: int) -> None:
    """A script that looks at the exit code once took a run without a result for a good one."""
    dead = f"http://127.0.0.1:{dead_port}"
    done = collector.run([task("dead", f"{dead}/", "ANSWER; x")], api_localhost=f"{url}/predict")
    assert done.returncode == 1 and "error: faults ended all 1 tasks" in done.stderr.splitlines()[-1]


def test_a_dead_site_is_invalid_but_a_dead_link_is_for_the_agent(collector: Collector, url: str) -> None:
    tasks = [
        task("own", f"{url}/broken", "Click {Own dead link} | ANSWER; x"),
        task("foreign", f"{url}/broken", "Click {Foreign dead link} | GoBack | ANSWER; y"),
    ]
    flags = {"api_localhost": f"{url}/predict", "num_sessions": 2, "max_fault_retries": 0}
    assert collector.run(tasks, **flags).returncode == 0
    own, foreign = (read_trajectory(collector.results / f"taskT--{name}") for name in ("own", "foreign"))
    assert own.status == "invalid" and "could not be loaded any more" in own.reason
    assert foreign.answer == "y" and "Foreign dead link" in foreign.trees[2]


def test_a_page_that_hangs_is_invalid_and_harms_no_other(collector: Collector, url: str) -> None:
    tasks = [task("hang", f"{url}/hang", "Click {Loop} | ANSWER; x"), task("fine", f"{url}/", "Wait | ANSWER; y")]
    flags = {"api_localhost": f"{url}/predict", "num_sessions": 2, "max_fault_retries": 0}
    assert collector.run(tasks, **flags).returncode == 0
    assert read_trajectory(collector.results / "taskT--hang").status == "invalid"
    assert read_trajectory(collector.results / "taskT--fine").answer == "y"


def test_a_browser_that_dies_is_replaced(
    collector: Collector, site: ThreadingHTTPServer, url: str, spawn: Any, tmp_path: Path
) -> None:
    site.slow_s = 2
    tasks = [task(number, f"{url}/", "Wait | ANSWER; done") for number in range(2)]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    flags = {"api_localhost": f"{url}/predict", "num_sessions": 1, "max_fault_retries": 0}
    child = spawn(*collector.arguments(tasks, **flags), env=environment)
    wait_until(lambda: site.requests)
    for pid in processes_naming(tmp_path):
        os.kill(pid, signal.SIGKILL)
    site.slow_s = 0
    assert child.wait(60) == 0
    assert read_trajectory(collector.results / "taskT--0").reason == "browser: the browser is gone"
    assert read_trajectory(collector.results / "taskT--1").answer == "done"
    assert not processes_naming(tmp_path) and not list(tmp_path.glob("elcano-browser-*"))


def test_a_server_that_dies_stops_the_run_and_loses_nothing(
    collector: Collector, site: ThreadingHTTPServer, url: str, spawn: Any
) -> None:
    policy = website.start()
    address = f"http://127.0.0.1:{policy.server_address[1]}/predict"
    tasks = [task(number, f"{url}/", "Wait | ANSWER; done") for number in range(12)]
    child = spawn(*collector.arguments(tasks, api_localhost=address, num_sessions=4), stderr=subprocess.PIPE)
    wait_until(lambda: collector.complete())
    website.stop(policy)
    assert child.wait(60) == 2
    assert "does not answer" in child.stderr.read()
    answered = [folder for folder in collector.complete() if read_trajectory(folder).status == "finished"]
    assert 1 <= len(answered) < 12
    assert collector.run(tasks, api_localhost=f"{url}/predict", num_sessions=4).returncode == 0
    assert all(read_trajectory(folder).answer == "done" for folder in collector.complete())
    assert len(collector.complete()) == 12


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ({"api_localhost": "http://127.0.0.1:9/predict"}, "nothing answers at http://127.0.0.1:9/predict"),
        ({"api_base": "http://127.0.0.1:9/v1"}, "nothing answers at http://127.0.0.1:9/v1"),
        ({"api_localhost": "8080/predict"}, "is not a URL"),
        ({"api_localhost": "URL", "prompt": "chat"}, "--prompt chat is for chat endpoints"),
        ({}, "no API key"),
        ({"api_localhost": "URL", "max_iter": 0}, "--max_iter must be at least 1"),
        ({"api_localhost": "URL", "num_browsers": 0}, "--num_browsers must be at least 1"),
        ({"api_localhost": "URL", "temperature": -1}, "--temperature must be 0 to 100"),
        ({"api_localhost": "URL", "sites_port": 9, "web": "http://shop.localhost:7070/"}, "websites answer on port 9"),
        ({"api_localhost": "URL", "output_dir": "/dev/null/results"}, "--output_dir /dev/null/results"),
        (
            {"api_localhost": "URL", "download_dir": "/dev/null/files"},
            "--download_dir /dev/null/files cannot be written",
        ),
        ({"api_localhost": "URL", "test_file": "nowhere.jsonl"}, "nowhere.jsonl: no such task file"),
    ],
)
def test_user_mistakes_are_one_line_and_exit_code_2(
    collector: Collector, url: str, flags: dict[str, Any], words: str
) -> None:
    flags = {name: f"{url}/predict" if value == "URL" else value for name, value in flags.items()}
    web = flags.pop("web", f"{url}/")
    done = collector.run([task(1, web, "ANSWER; x")], **flags)
    assert_one_line(done, words)


def test_without_a_display_browsers_have_no_window(collector: Collector, url: str) -> None:
    """And a task file of one's own gets no word about embedded tasks."""
    done = collector.run([task(1, f"{url}/", "ANSWER; x")], api_localhost=f"{url}/predict", headless=False)
    assert done.returncode == 0 and read_trajectory(collector.results / "taskT--1").answer == "x"
    assert "no display: browsers run as with --headless" in done.stderr and "embedded" not in done.stderr


def test_a_missing_browser_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(launch, "HEADLESS_SHELL", Path("/nowhere"))
    with pytest.raises(UserError, match="chromium is not installed; on Debian or Ubuntu: apt-get install chromium"):
        launch.find_binary(headless=True)


YES = {"exact_match": "yes"}


def run_script(collector: Collector, **flags: Any) -> subprocess.CompletedProcess:
    """`run.py` with these flags only."""
    words = [word for name, value in flags.items() for word in (f"--{name}", str(value))]
    command = [sys.executable, collector.script, *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)


def assert_one_line(done: subprocess.CompletedProcess, words: str) -> None:
    assert done.returncode == 2, done.stderr
    errors = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1 and words in errors[0]
    assert "Traceback" not in done.stderr


def processes_naming(folder: Path) -> list[int]:
    """Living processes whose command line names `folder`."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if str(folder).encode() + b"/elcano-browser" in entry.read_bytes():
                found.append(int(entry.parent.name))
        except OSError:
            continue
    return found
