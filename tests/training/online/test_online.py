"""train_online.sh on rollouts that a tiny policy made through the real server: real ranks over gloo, real kills."""

import filecmp
import json
import os
import re
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest

from data.online_run import OnlineRun, read_fates
from tests import tiny
from tests.conftest import ROOT
from tests.forked import run_command
from tests.server.helpers import running_server
from tests.training.conftest import converted
from tests.training.online_rollouts import write_rollouts
from training.online.window import takeable

pytestmark = pytest.mark.timeout(900)  # a dozen starts of real ranks
NO_SPREAD, INVALID, HALF = 2, 5, 9
"""Groups of which nothing is learned; the last is not complete."""


@pytest.fixture(scope="module")
def recorded(policy: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with ten groups of version 0."""
    run = OnlineRun(tmp_path_factory.mktemp("online") / "run")
    run.weights.mkdir(parents=True)
    run.version(0).symlink_to(policy)
    with running_server(policy, "--dtype", "float32") as server:
        write_rollouts(run, server.url, [number for number in range(10) if number not in (NO_SPREAD, INVALID)])
        write_rollouts(run, server.url, [NO_SPREAD], [0.0, 0.0])
        write_rollouts(run, server.url, [INVALID], [None, None])
    (run.group(HALF) / "group.json").unlink()
    return run.folder


class Trainer:
    """One call of the script on a copy of the recorded run."""

    def __init__(self, folder: Path, megatron: Path, **options: object) -> None:
        flags = {
            **{"run_dir": folder, "pretrain_checkpoint_path": megatron, "pr": "fp32", "ac": "none", "tp": 1},
            **{"batch_size": 2, "global_batch_size": 8, "seq_len": 2048, "num_workers": 0, "groups_per_step": 2},
            **{"lr": 1e-4, "num_versions": 3, "max_lag": 9, "max_logprob_difference": 1.0, **options},
        }
        self.run = OnlineRun(folder)
        self.start(flags)

    def start(self, flags: dict[str, object]) -> None:
        self.process = tiny.start_script(ROOT / "training" / "train_online.sh", flags)

    def finish(self, exit_code: int = 0) -> str:
        output = self.process.communicate(timeout=600)[0]
        assert self.process.returncode == exit_code, output
        return output

    def wait_for(self, part: str) -> None:
        assert any(part in line for line in self.process.stdout), f"ended without {part!r}"

    def kill(self) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


class ForkedTrainer(Trainer):
    """The same, but for how its processes start."""

    def start(self, flags: dict[str, object]) -> None:
        self.flags = flags

    def finish(self, exit_code: int = 0) -> str:
        return run_command("training.online.command", self.flags, exit_code)


def copy_of(recorded: Path, folder: Path) -> Path:
    return Path(shutil.copytree(recorded, folder, symlinks=True))


def metrics(folder: Path) -> dict[int, dict[str, Any]]:
    """By version, as the last line of it says."""
    lines = (folder / "trainer" / "log" / "online" / "metrics.jsonl").read_text().splitlines()
    return {line["version"]: line for line in map(json.loads, lines)}


@pytest.fixture(scope="module")
def undisturbed(recorded: Path, megatron: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of three versions on one rank."""
    folder = copy_of(recorded, tmp_path_factory.mktemp("undisturbed") / "run")
    output = ForkedTrainer(folder, megatron).finish()
    assert f"group {INVALID}: invalid: a fault ended every rollout" in output
    return folder


def test_each_group_is_learned_once_and_dropped_ones_are_told(undisturbed: Path) -> None:
    lines = [json.loads(line) for line in OnlineRun(undisturbed).learned.read_text().splitlines()]
    fates = {line["group"]: (line["version"], line["fate"]) for line in lines}
    assert len(fates) == len(lines)
    assert fates == {
        **{0: (0, "learned"), 1: (0, "learned"), 3: (1, "learned"), 4: (1, "learned")},
        **{6: (2, "learned"), 7: (2, "learned"), NO_SPREAD: (1, "no spread"), INVALID: (2, "invalid")},
    }
    assert [line["groups"] for line in metrics(undisturbed).values()] == [[0, 1], [3, 4], [6, 7]]
    assert [line["waiting_groups"] for line in metrics(undisturbed).values()] == [7, 4, 1]


def test_trainer_and_server_agree_on_what_was_sampled(undisturbed: Path) -> None:
    """Replies at temperature 0.6 by the very weights; what the server forbids takes some of the mass."""
    first, *later = metrics(undisturbed).values()
    assert 0 < first["logprob_difference"] < 2e-3 and first["ratio_outside"] == 0
    assert first["logprob_difference"] == first["logprob_difference_same_weights"]
    assert "logprob_difference_same_weights" not in later[0]


def test_published_weights_are_what_mg2hf_makes_of_the_checkpoint(undisturbed: Path, tmp_path: Path) -> None:
    run = OnlineRun(undisturbed)
    assert list(run.versions()) == [0, 1, 2, 3]
    made = converted("mg2hf", undisturbed / "trainer" / "checkpoint" / "online", tmp_path / "hf")
    names = sorted(path.name for path in made.iterdir())
    assert names == sorted(path.name for path in run.version(3).iterdir())
    same, different, unread = filecmp.cmpfiles(made, run.version(3), names, shallow=False)
    assert (sorted(same), different, unread) == (names, [], [])


def test_adapters_alone_are_published_where_they_alone_learn(recorded: Path, megatron: Path, tmp_path: Path) -> None:
    """Version 0 is the whole base; the others are PEFT folders with the tensors that mg2hf.sh makes, gone on from."""
    folder = copy_of(recorded, tmp_path / "run")
    (folder / "weights" / "000000").unlink()
    ForkedTrainer(folder, megatron, lora_rank=4, num_versions=1, lr=1e-3, tp=2).finish()
    ForkedTrainer(folder, megatron, lora_rank=4, num_versions=2, lr=1e-3, pp=2).finish()
    run, checkpoint = OnlineRun(folder), folder / "trainer" / "checkpoint" / "online"
    assert (run.version(0) / "model.safetensors").exists() and not (run.version(1) / "model.safetensors").exists()
    made = converted("mg2hf", checkpoint, tmp_path / "peft", lora="apart", dtype="auto")
    name = "adapter_model.safetensors"
    assert (made / name).read_bytes() == (run.version(2) / name).read_bytes()
    settings = [json.loads((one / "adapter_config.json").read_text()) for one in (made, run.version(2))]
    assert settings[1].pop("base_model_name_or_path") == str(run.version(0)) and settings[0].pop(
        "base_model_name_or_path"
    )
    assert settings[0] == settings[1]


@pytest.mark.parametrize(
    "options",
    [
        {"dp": 2},
        pytest.param({"tp": 2}, marks=pytest.mark.slow),
        pytest.param({"pp": 2, "packing": "true", "batch_size": 1}, marks=pytest.mark.slow),
    ],
    ids=["dp2", "tp2", "pp2, packed"],
)
def test_layouts_learn_the_same(
    options: dict[str, object], undisturbed: Path, recorded: Path, megatron: Path, tmp_path: Path
) -> None:
    folder = copy_of(recorded, tmp_path / "run")
    ForkedTrainer(folder, megatron, num_versions=2, **options).finish()
    for version, line in metrics(folder).items():
        expected = metrics(undisturbed)[version]
        assert line["losses"] == pytest.approx(expected["losses"], abs=2e-4)
        assert line["logprob_difference"] == pytest.approx(expected["logprob_difference"], abs=1e-4)


def test_a_killed_trainer_goes_on_with_the_same_losses(
    undisturbed: Path, recorded: Path, megatron: Path, tmp_path: Path
) -> None:
    """Killed once between two versions; once more so that a version was saved but neither told nor published."""
    folder = copy_of(recorded, tmp_path / "run")
    killed = Trainer(folder, megatron)
    killed.wait_for("version 1 |")
    killed.kill()
    ForkedTrainer(folder, megatron, num_versions=2).finish()
    run = OnlineRun(folder)
    shutil.rmtree(run.version(2))
    lines = run.learned.read_text().splitlines(keepends=True)
    run.learned.write_text("".join(lines[:2]) + '{"group": 7, "version": 2, "fate": "invalid"}\n')
    ForkedTrainer(folder, megatron).finish()
    assert read_fates(run.learned) == read_fates(OnlineRun(undisturbed).learned)
    assert len(run.learned.read_text().splitlines()) == 8
    assert [line["losses"] for line in metrics(folder).values()] == [
        line["losses"] for line in metrics(undisturbed).values()
    ]
    weights = [one.version(number) / "model.safetensors" for one in (run, OnlineRun(undisturbed)) for number in (2, 3)]
    assert weights[0].read_bytes() == weights[2].read_bytes() and weights[1].read_bytes() == weights[3].read_bytes()


def test_filtered_bc_waits_for_a_straggler_and_ends_when_asked(recorded: Path, megatron: Path, tmp_path: Path) -> None:
    """A group without a success is dropped; SIGTERM ends the wait for more, and the next start says so."""
    folder = copy_of(recorded, tmp_path / "run")
    (folder / "trajectories" / "group000000" / "group.json").unlink()
    trainer = Trainer(folder, megatron, algorithm="filtered_bc", num_versions=0, look_ahead=4)
    trainer.wait_for("version 1 |")
    trainer.process.send_signal(signal.SIGTERM)
    assert "stopped at version 1; the same command goes on" in trainer.finish(143)
    fates = read_fates(OnlineRun(folder).learned)
    assert fates == {1: "learned", NO_SPREAD: "no spread", 3: "learned"}


@pytest.mark.parametrize(
    ("algorithm", "options"),
    [
        ("grpo", {"algorithm_options": "ratio=decoupled"}),
        pytest.param("pae", {"replay_groups": 4, "ppo_epochs": 2}, marks=pytest.mark.slow),
        ("digirl", {"critic": "monte_carlo", "critic_folds": 2, "critic_iters": 20, "algorithm_options": "quantile=0"}),
        pytest.param("digirl", {"algorithm_options": "quantile=0"}, marks=pytest.mark.slow),
        pytest.param("webrl", {"critic": "td", "critic_iters": 20}, marks=pytest.mark.slow),
    ],
    ids=["decoupled grpo", "pae", "digirl, a critic", "digirl", "webrl, td"],
)
def test_every_algorithm_learns_from_groups_as_they_come(
    algorithm: str, options: dict[str, object], recorded: Path, megatron: Path, tmp_path: Path
) -> None:
    folder = copy_of(recorded, tmp_path / "run")
    ForkedTrainer(folder, megatron, algorithm=algorithm, num_versions=2, **options).finish()
    lines = metrics(folder)
    assert list(lines) == [1, 2] and all(line["samples"] > 0 and line["grad_norm"] > 0 for line in lines.values())
    assert lines[1]["logprob_difference"] < 2e-3
    assert lines[1]["wait_s"] >= 0 and lines[1]["columns_s"] > 0


@pytest.mark.slow
def test_what_is_replayed_is_the_same_after_a_kill(recorded: Path, megatron: Path, tmp_path: Path) -> None:
    """WebRL, with all that an algorithm can ask for: earlier groups, their perplexity, a critic, a reference."""
    webrl = {
        **{"algorithm": "webrl", "replay_groups": 4, "critic": "monte_carlo", "critic_folds": 2, "critic_iters": 20},
        **{"algorithm_options": "replay=2,window_low=0,window_high=1e9", "num_versions": 3},
    }
    whole, killed = (copy_of(recorded, tmp_path / name) for name in ("whole", "killed"))
    Trainer(whole, megatron, **webrl).finish()
    trainer = Trainer(killed, megatron, **webrl)
    trainer.wait_for("version 2 |")
    trainer.kill()
    Trainer(killed, megatron, **webrl).finish()
    assert [line["losses"] for line in metrics(killed).values()] == [line["losses"] for line in metrics(whole).values()]
    own = [sum(line["samples"] for line in metrics(whole).values()), OnlineRun(whole)]
    steps = sum(len(path.read_text().splitlines()) for path in own[1].trajectories.glob("group*/*/steps.jsonl"))
    assert own[0] > steps / 2  # some are learned again


def test_rollouts_of_another_policy_are_refused_in_one_line(recorded: Path, megatron: Path, tmp_path: Path) -> None:
    folder = copy_of(recorded, tmp_path / "run")
    for steps in folder.glob("trajectories/*/*/steps.jsonl"):
        lines = [json.loads(line) for line in steps.read_text().splitlines()]
        for line in lines:
            line["logprobs"] = [logprob - 0.5 for logprob in line["logprobs"]]
        steps.write_text("".join(json.dumps(line) + "\n" for line in lines))
    output = Trainer(folder, megatron, max_logprob_difference=0.1).finish(2)  # torchrun prints what a rank says
    assert re.search(r"^error: log-probabilities of trainer and server differ by (0\.49|0\.5)", output, re.M), output
    assert "Traceback" not in output and not read_fates(OnlineRun(folder).learned)


def test_what_cannot_be_learned_online_is_refused_before_ranks_start(recorded: Path, megatron: Path) -> None:
    output = ForkedTrainer(recorded, megatron, lora_rank=4, freeze_vision="false").finish(2)
    assert "LORA_RANK: adapters alone are published" in output
    output = ForkedTrainer(recorded, megatron, algorithm="digiq").finish(2)
    assert "is not learned online" in output
    output = ForkedTrainer(recorded, megatron, algorithm="digirl", critic="td").finish(2)
    assert "asks for instruction_value, which CRITIC=td does not make" in output


@pytest.mark.parametrize(
    ("begun", "complete", "look_ahead", "taken"),
    [
        ([1, 2, 3], [1, 2, 3], 0, [1, 2, 3]),
        ([1, 2, 3, 4], [2, 3, 4], 2, [2, 3]),
        ([1, 2, 3, 4], [1, 3, 4], 0, [1]),
        ([5, 9], [9], 3, []),
        ([5, 9], [9], 4, [9]),
        ([], [], 8, []),
    ],
)
def test_a_straggler_is_passed_as_far_as_the_window_reaches(
    begun: list[int], complete: list[int], look_ahead: int, taken: list[int]
) -> None:
    assert takeable(begun, complete, look_ahead) == taken
