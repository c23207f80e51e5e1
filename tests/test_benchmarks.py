"""Every benchmark starts by the commands in its first lines, and does its work in its smallest form."""

import asyncio
import contextlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import apps, serving_traffic
from benchmarks.collection_site import Site
from benchmarks.figures import Figure
from data.task import Task
from environments.environment import Environment
from environments.faults import BrowserError
from server.engine.model.vision_language_model import LoadOptions, VisionLanguageModel
from tests import forked
from tests.conftest import ROOT

COMMAND = re.compile(r"^ *python ((?:-m )?benchmarks\S+(?: checkpoints| data)?)", re.MULTILINE)
TEXTS = [path.read_text() for path in (ROOT / "benchmarks").glob("*.py")]
COMMANDS = sorted(
    {found for text in TEXTS if "--help" in text or "cli.run(" in text for found in COMMAND.findall(text)}
)
SMALL = {
    "-m benchmarks.hit_test": "--clicks 3 --repeats 1 --output OUT",
    "-m benchmarks.viewer": "--num_trajectories 20 --repeats 1 --output OUT",
}
SLOW = {
    "-m benchmarks.verdicts": "--num_tasks 12",
    "benchmarks/conversion.py data": "--num_trajectories 3 --screenshots drawn --num_repeats 1 --output OUT",
    "benchmarks/proposals.py": "--num_tasks 4",
    "-m benchmarks.data_formats": "--num_trajectories 2 --screenshots drawn --formats atif hf --output OUT",
    "-m benchmarks.page_lengths": "--urls SITE --policy examples/quickstart/starting_policy/weights --num_pages 3 "
    "--output OUT",
    "-m benchmarks.survey": "--num_samples 20",
    "-m benchmarks.training_samples": "--dataset_path examples/quickstart/demonstrations/shards --output OUT",
    "benchmarks/collection.py": "--num_sessions 1 --seconds 1 --observation_rounds 1 --repeats 1 --output OUT",
    "benchmarks/endurance.py": "--num_sessions 2 --num_tasks 2 --steps_per_task 3 --think_s 0.2 --output OUT",
    "benchmarks/serving.py": "--quick --output OUT",
    "-m benchmarks.viewer": "--wall_seconds 3 --repeats 1 --output OUT",
    "benchmarks/conversion.py checkpoints": "--work_dir FOLDER/work --num_layers 1 --num_repeats 1 --output OUT",
    "-m benchmarks.data_streaming": "--num_steps 10000 --kilobytes 20 --output OUT",
    "-m benchmarks.touch": "--num_sessions 1 --seconds 2 --repeats 1 --output OUT",
    "benchmarks/online_publish.py": "--work_dir FOLDER/work --num_layers 1 --repeats 1",
    "benchmarks/training.py": "--models quickstart --padding pages --rounds 1 --output OUT",
    "-m benchmarks.training_gpu": "--cpu --rows 1 --steps 1 --output OUT",
    "-m benchmarks.training_gpu_baseline": "--cpu --sample_len 512 --samples 1 --steps 1 --output OUT",
}
PARTS = {
    "benchmarks/conversion_data.py",
    "benchmarks/conversion_checkpoints.py",
}  # what benchmarks/conversion.py starts
ELSEWHERE = {
    "-m benchmarks.memory_by_rank": "tests/training/launch/test_memory_by_rank.py",
    "-m benchmarks.apps": "tests/environments/apps/test_apps_live.py",
    "-m benchmarks.online_exactness": "tests/examples/test_online_compare.py",
    "-m benchmarks.serving_nodes": "tests/server/cluster/test_server_nodes.py",
    "-m benchmarks.collection_nodes": "tests/collection/nodes/test_nodes.py",
    "-m benchmarks.online_waiting": "tests/examples/test_online_compare.py",
}


NAMED_AS_ROOMS = ("benchmarks/collection.py", "benchmarks/training.py")
"""Started as they are typed: they must not hide the rooms."""


@pytest.mark.parametrize("command", sorted({*COMMANDS} - {*SMALL}))  # those are run
def test_a_benchmark_tells_its_options(command: str) -> None:
    start = subprocess.run if command in NAMED_AS_ROOMS else forked.run
    done = start([sys.executable, *command.split(), "--help"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0 and "usage" in done.stdout, done.stderr


def test_no_benchmark_is_forgotten() -> None:
    assert set(COMMANDS) == {*SMALL, *SLOW, *PARTS, *ELSEWHERE}
    for command, file in ELSEWHERE.items():
        assert command.split("/")[-1].split(".")[-1].removesuffix(".py") in (ROOT / file).read_text()


@pytest.mark.parametrize("command", SMALL)
def test_a_benchmark_does_its_work(command: str, tmp_path: Path) -> None:
    run(command, SMALL[command], tmp_path)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("command", SLOW)
def test_a_long_benchmark_does_its_work(command: str, tmp_path: Path) -> None:
    run(command, SLOW[command], tmp_path)


def test_a_figure_is_a_median_with_its_range() -> None:
    assert str(Figure.of([1.0, 30.0, 2.5])) == "2.50 (1.00 to 30.0)"
    assert str(Figure.of([1234.5])) == "1,234 (1,234 to 1,234)"
    assert Figure.times([2.0, 4.0, 6.0], [1.0, 1.0, 2.0]) == Figure(3.0, 2.0, 4.0)


def test_serving_is_asked_what_was_recorded_and_by_no_two_agents_the_same() -> None:
    model = VisionLanguageModel(ROOT / "examples/quickstart/starting_policy/weights", LoadOptions(device="cpu"))
    agents = [serving_traffic.agent(number, 3, 800, model, last_n=3) for number in (1, 16)]  # the same episode
    first, other = (agent[0] for agent in agents)
    assert first.reply != other.reply and first.turns != other.turns and not set(first.images) & set(other.images)
    for request in (request for agent in agents for request in agent):
        assert abs(serving_traffic.num_tokens(request.turns, request.images, model) - 800) < 30
        assert 40 < len(request.reply_ids) < 100 and request.reply_ids[-1] in model.eos_ids
        assert request.reply.startswith("Thought: I am on ")
        assert model.processor.tokenizer.decode(request.reply_ids, skip_special_tokens=True).strip() == request.reply


def run(command: str, flags: str, folder: Path) -> None:
    """What it writes is JSON."""
    output = folder / "out.json"
    with contextlib.ExitStack() as stack:
        if "SITE" in flags:
            flags = flags.replace("SITE", stack.enter_context(Site()).url("shop"))
        arguments = [*command.split(), *flags.replace("OUT", str(output)).replace("FOLDER", str(folder)).split()]
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
        done = subprocess.run([sys.executable, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "--output" not in flags or json.loads(output.read_text())


def test_a_browser_that_does_not_start_costs_its_episode_alone(tmp_path: Path) -> None:
    async def start(session: int, downloads: Path) -> Environment:
        raise BrowserError("it did not start")

    tasks = [Task(id=name, ques="q", web="http://a/", web_name="A") for name in ("trac.a--1", "trac.b--2")]
    seen, world = apps.Seen(), apps.World(apps.BrowserConfig())
    asyncio.run(apps._session(0, start, world, iter(tasks), float("inf"), tmp_path, seen))
    assert seen.invalid == dict.fromkeys((task.id for task in tasks), "it did not start") and not seen.episodes
