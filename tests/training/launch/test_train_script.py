"""train_idefics2.sh as a user runs it: start, kill -9, resume, finish, refuse."""

import shutil
import signal
from pathlib import Path

import psutil
import pytest
from transformers import AutoModelForImageTextToText, AutoProcessor

from data.checkpoint_folder import read_tracker, write_tracker
from data.shards.shard import Sample
from models.image_settings import ImageSettings
from models.processor import write_image_settings
from tests import tiny
from tests.training.conftest import convert
from tests.training.script import ForkedRun, Run, metrics, steps, wait_until_gone
from training.loop.stop import EXIT_CODE as STOPPED


@pytest.fixture(scope="module")
def uninterrupted(shards: Path, megatron: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, str]:
    run = Run(shards, megatron, tmp_path_factory.mktemp("uninterrupted"))
    return run, run.finish()


def test_the_loss_falls_and_the_outputs_lie_where_published(uninterrupted: tuple[Run, str]) -> None:
    run, output = uninterrupted
    losses = [float(loss) for loss, _ in metrics(output).values()]
    assert len(losses) == 6 and losses[-1] < losses[0] - 0.5
    assert output.count("3 steps left: about 1 minute at this speed") == 1
    base = run.checkpoints.parent.parent
    assert list((base / "tensorboard" / "run").glob("events.*")) and list((base / "log" / "run").glob("log_*.txt"))
    assert (run.checkpoints / "latest_checkpointed_iteration.txt").read_text() == "6"


def test_the_trained_policy_loads_in_hugging_face(uninterrupted: tuple[Run, str], policy: Path, tmp_path: Path) -> None:
    folder = convert("mg2hf", uninterrupted[0].checkpoints, tmp_path / "hf")
    before = AutoModelForImageTextToText.from_pretrained(policy).state_dict()
    after = AutoModelForImageTextToText.from_pretrained(folder).state_dict()
    assert before.keys() == after.keys()
    unchanged = [name for name in before if before[name].equal(after[name])]
    assert unchanged == []
    assert AutoProcessor.from_pretrained(folder).image_seq_len == tiny.NUM_LATENTS


def test_a_complete_run_ends_at_once(uninterrupted: tuple[Run, str], shards: Path, megatron: Path) -> None:
    output = ForkedRun(shards, megatron, uninterrupted[0].checkpoints.parent.parent).finish()
    assert "complete" in output and "iteration" not in output


def test_a_killed_run_continues_as_if_nothing_had_happened(
    uninterrupted: tuple[Run, str], shards: Path, megatron: Path, tmp_path: Path
) -> None:
    killed = Run(shards, megatron, tmp_path)
    killed.wait_for("saved ")
    killed.kill()
    wait_until_gone(str(tmp_path))
    output = ForkedRun(shards, megatron, tmp_path).finish()
    resumed = metrics(output)
    assert sorted(resumed) in ([3, 4, 5, 6], [5, 6])  # the kill may come after the next checkpoint
    expected = metrics(uninterrupted[1])
    assert resumed == {number: expected[number] for number in resumed}


def test_the_next_round_starts_from_these_weights_with_a_schedule_of_its_own(
    uninterrupted: tuple[Run, str], shards: Path, tmp_path: Path
) -> None:
    """And keeps the last checkpoint only, where that is asked for, whatever a course that was left has left."""
    before, _ = uninterrupted
    (tmp_path / "checkpoint" / "run" / "iter_0000009").mkdir(parents=True)
    options = {"tp": 1, "train_iters": 4, "save_interval": 1, "keep_last": 1, "lr_schedule": "linear"}
    run = ForkedRun(shards, before.checkpoints, tmp_path, **options)
    run.finish()
    first, *_, last = steps(run)
    assert (first["iteration"], last["iteration"]) == (1, 4)
    assert first["lr"] == pytest.approx(5e-4) and last["lr"] == pytest.approx(1e-6)  # half of the warm-up; min_lr
    assert first["loss"] < steps(before)[0]["loss"] - 0.3
    assert sorted(path.name for path in run.checkpoints.glob("iter_*")) == ["iter_0000004", "iter_0000009"]


@pytest.mark.slow
def test_sigterm_stops_with_a_checkpoint_that_another_layout_continues(
    uninterrupted: tuple[Run, str], shards: Path, megatron: Path, tmp_path: Path
) -> None:
    options = {"save_interval": 100, "async_save": "false"}
    stopped = Run(shards, megatron, tmp_path, **options)
    stopped.wait_for("iteration 1/6")
    stopped.process.send_signal(signal.SIGTERM)
    assert "the same command continues it" in "".join(stopped.lines())
    assert stopped.process.wait() == STOPPED
    last = int(read_tracker(stopped.checkpoints))
    resumed = metrics(Run(shards, megatron, tmp_path, **options, tp=1).finish())
    assert sorted(resumed) == list(range(last + 1, 7))
    for number, expected in metrics(uninterrupted[1]).items():
        if number in resumed:
            assert [float(value) for value in resumed[number]] == pytest.approx([float(v) for v in expected], rel=1e-3)


@pytest.mark.slow
def test_sigterm_to_all_processes_takes_no_loader_from_its_rank(shards: Path, megatron: Path, tmp_path: Path) -> None:
    """As `systemctl stop` and some clusters send it. And the rank, which ends its loaders in the middle of their work,
    says nothing of it: torch calls a loader that ends with anything but 0 an error."""
    stopped = Run(shards, megatron, tmp_path, tp=1, train_iters=200, save_interval=500, num_workers=2)
    stopped.wait_for("iteration 2/200")
    processes = [stopped.process, *psutil.Process(stopped.process.pid).children(recursive=True)]
    assert len(processes) >= 4  # the launcher, a rank, its loaders
    for process in processes:
        process.send_signal(signal.SIGTERM)
    told = "".join(stopped.lines())
    assert "the same command continues it" in told and "Error" not in told, told
    assert stopped.process.wait() == STOPPED and int(read_tracker(stopped.checkpoints)) >= 2
    wait_until_gone(str(tmp_path))


@pytest.mark.slow
def test_data_parallel_ranks_with_a_distributed_optimizer_resume_too(
    shards: Path, megatron: Path, tmp_path: Path
) -> None:
    """Also bf16, recomputation, a loader in its own process, and a starting checkpoint that was converted again with
    another flag meanwhile: what a run sees stands in its own folder."""
    megatron = shutil.copytree(megatron, tmp_path / "megatron")
    options = {"tp": 1, "dp": 2, "do": "true", "pr": "bf16", "ac": "full", "num_workers": 1, "train_iters": 4}
    whole = Run(shards, megatron, tmp_path, **options)
    expected = metrics(whole.finish())
    assert all(1 <= step["work_max_to_mean"] < 1.2 for step in steps(whole))
    shutil.rmtree(whole.checkpoints / "iter_0000004")
    write_tracker(whole.checkpoints, "2")
    write_image_settings(megatron, ImageSettings(image_size=56))
    resumed = metrics(Run(shards, megatron, tmp_path, **options).finish())
    assert resumed == {number: expected[number] for number in (3, 4)}
    assert (whole.checkpoints / "elcano.json").exists()


@pytest.mark.parametrize("num_samples", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_fewer_samples_than_loader_workers_train_and_resume(megatron: Path, num_samples: int, tmp_path: Path) -> None:
    """Also with another number of workers, of which no more are used either."""
    shards = tiny.build_dataset(tmp_path / "shards", [tiny.sample(index) for index in range(num_samples)])
    options = {"tp": 1, "train_iters": 2, "save_interval": 1}
    whole = ForkedRun(shards, megatron, tmp_path, num_workers=8, **options)
    output = whole.finish()
    assert f"NUM_WORKERS={num_samples}, not 8: one for each training sample" in output
    shutil.rmtree(whole.checkpoints / "iter_0000002")
    write_tracker(whole.checkpoints, "1")
    resumed = ForkedRun(shards, megatron, tmp_path, num_workers=4, **options).finish()
    assert metrics(resumed) == {2: metrics(output)[2]}


def test_a_broken_sample_is_one_clear_line(megatron: Path, tmp_path: Path) -> None:
    good = tiny.sample(1, num_steps=2)
    cut = Sample("cut", good.conversations, [image[:70] for image in good.images])
    shards = tiny.build_dataset(tmp_path / "shards", [cut, *(tiny.sample(index) for index in range(7))], of_others=True)
    output = Run(shards, megatron, tmp_path, num_workers=1).finish(exit_code=2)
    assert [line for line in output.splitlines() if line.startswith("error: sample cut: broken image")]
    assert "Traceback" not in output
