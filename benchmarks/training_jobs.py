"""Who trains what in `benchmarks/training.py`: the models, the processes of each side, and their turns."""

import dataclasses
import functools
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks import usage
from common.files import read_json, write_json
from common.processes import free_port

ROOT = Path(__file__).resolve().parent.parent
STARTING_POLICY = ROOT / "examples" / "quickstart" / "starting_policy" / "weights"
MODELS: dict[str, dict[str, Any]] = {
    "quickstart": {},
    "larger": {
        "text_config": {
            **{"hidden_size": 512, "intermediate_size": 1536, "num_hidden_layers": 10},
            **{"num_attention_heads": 8, "num_key_value_heads": 2, "head_dim": 64},
        },
        "vision_config": {
            **{"hidden_size": 256, "intermediate_size": 1024, "num_hidden_layers": 4, "num_attention_heads": 4}
        },
        "perceiver_config": {"hidden_size": 512, "resampler_head_dim": 64},
    },
}
"""What of the starting policy's configuration is changed."""
_NUM_SAMPLES = {"quickstart": 16, "larger": 4}
"""Of a round: some seconds of work."""
_LOSS_TOLERANCE = 1e-4
_NUM_TRAJECTORIES = 8


@dataclasses.dataclass
class Row:
    """A side's measurements, one entry a round."""

    model: str
    name: str
    threads: int
    tokens: int = 0
    computed: int = 0
    """Tokens that the model computes, with padding and with what several samples repeat."""
    loss: float = 0.0
    work: float | None = None
    """Of the busiest replica, by the mean of all."""
    seconds: list[float] = dataclasses.field(default_factory=list)
    cpu_seconds: list[float] = dataclasses.field(default_factory=list)

    @property
    def tokens_per_s(self) -> list[float]:
        return [self.tokens / value for value in self.seconds]

    @property
    def tokens_per_cpu_s(self) -> list[float]:
        return [self.tokens / value for value in self.cpu_seconds]


class Team:
    """The processes of one side."""

    def __init__(
        self, side: str, ranks: int, threads: int, folder: Path, dataset_path: Path | None, replicas: int = 1
    ) -> None:
        self.replicas = replicas
        command = [sys.executable, "-m", "benchmarks.training_worker", "--side", side, "--folder", str(folder)]
        command += ["--replicas", str(replicas)]
        command += ["--dataset_path", str(dataset_path)] if dataset_path else []
        variables = {"OMP_NUM_THREADS": threads, "WORLD_SIZE": ranks, "MASTER_PORT": free_port(), "TQDM_DISABLE": 1}
        variables |= {"MASTER_ADDR": "127.0.0.1", "TOKENIZERS_PARALLELISM": "false", "PYTHONPATH": ROOT}
        variables |= {"PYTHONWARNINGS": "ignore", "CUDA_DEVICE_MAX_CONNECTIONS": 1}  # as our launcher has them
        environment = {**os.environ, **{name: str(value) for name, value in variables.items()}}
        self.processes = [
            subprocess.Popen(
                command,
                env={**environment, "RANK": str(rank), "LOCAL_RANK": str(rank)},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                bufsize=1,
            )
            for rank in range(ranks)
        ]

    def ask(self, to_do: str, job: dict[str, Any]) -> dict[str, Any]:
        """The first process's answer, when all have answered, with what all replicas computed."""
        for process in self.processes:
            process.stdin.write(json.dumps({"do": to_do, "job": job}) + "\n")
        lines = [process.stdout.readline() for process in self.processes]
        if not all(lines):
            raise RuntimeError("a side's process ended; its last lines are above")
        answers = [json.loads(line) for line in lines]
        computed = sum(answer["computed"] for answer in answers) * self.replicas // len(answers)
        return {**answers[0], "computed": computed}

    def close(self) -> None:
        """End the processes."""
        for process in self.processes:
            process.stdin.close()
            process.kill()
            process.wait()


class Teams:
    """One process for what PyTorch trains, and ours at TP=1, TP=2 and DP=2; each starts when it is first asked for."""

    def __init__(self, folder: Path, dataset_path: Path | None) -> None:
        self._read = (folder, dataset_path)

    @functools.cached_property
    def reference(self) -> Team:
        return Team("reference", 1, 2, *self._read)

    @functools.cached_property
    def tp1(self) -> Team:
        return Team("elcano", 1, 1, *self._read)

    @functools.cached_property
    def tp2(self) -> Team:
        return Team("elcano", 2, 1, *self._read)

    @functools.cached_property
    def dp2(self) -> Team:
        return Team("elcano", 2, 1, *self._read, replicas=2)

    def close(self) -> None:
        """End all."""
        for team in vars(self).values():
            if isinstance(team, Team):
                team.close()


@contextmanager
def teams(folder: Path, dataset_path: Path | None) -> Iterator[Teams]:
    """Started, and ended whatever happens."""
    started = Teams(folder, dataset_path)
    try:
        yield started
    finally:
        started.close()


def make_models(folder: Path, names: Sequence[str]) -> dict[str, int]:
    """Each model for Hugging Face and for Megatron, with the same weights; their numbers of parameters."""
    from transformers import AutoModelForImageTextToText

    counts = {}
    for name in names:
        hf = folder / name / "hf"
        shutil.copytree(STARTING_POLICY, hf)
        if MODELS[name]:
            _resize(hf, MODELS[name])
        model = AutoModelForImageTextToText.from_pretrained(hf)
        counts[name] = sum(parameter.numel() for parameter in model.parameters())
        command = [sys.executable, ROOT / "toolkits" / "model_checkpoints_convertor" / "convert.py", "--direction"]
        command += ["hf2mg", "--load_path", hf, "--save_path", folder / name / "megatron", "--dtype", "fp32"]
        subprocess.run(command, check=True, env={**os.environ, "PYTHONPATH": str(ROOT)}, stdout=subprocess.DEVNULL)
    return counts


def _resize(folder: Path, changes: dict[str, dict[str, Any]]) -> None:
    """Give a Hugging Face folder another configuration and random weights."""
    import torch
    from transformers import AutoConfig, AutoModelForImageTextToText

    fields = read_json(folder / "config.json")
    write_json(folder / "config.json", {**fields, **{part: fields[part] | some for part, some in changes.items()}})
    for path in folder.glob("*.safetensors*"):
        path.unlink()
    torch.manual_seed(0)
    model = AutoModelForImageTextToText.from_config(AutoConfig.from_pretrained(folder), dtype=torch.float32)
    model.save_pretrained(folder)


def compare_sides(teams: Teams, model: str, rounds: int) -> list[Row]:
    """All sides on one model: with one thread, then with two."""
    rows = []
    for threads in (1, 2):
        reference, ours = (teams.reference, teams.tp1 if threads == 1 else teams.tp2)
        job = {"model": model, "threads": threads, "num_samples": _NUM_SAMPLES[model], "seq_len": 2048}
        padded, packed = {**job, "mode": "padded"}, {**job, "mode": "packed"}
        ours_job = {"side": "elcano", "threads": 1}
        turns = {
            "Hugging Face": (reference, {**padded, "side": "huggingface"}),
            "plain loop": (reference, {**padded, "side": "loop"}),
            f"Elcano TP={threads}": (ours, {**padded, **ours_job}),
            f"Elcano TP={threads} packed": (ours, {**packed, **ours_job}),
        }
        measured = [Row(model, name, threads) for name in turns]
        _take_turns(measured, list(turns.values()), rounds)
        _check_losses(measured[1:])
        rows += measured
    return rows


def compare_padding(teams: Teams, model: str, rounds: int, lengths: str) -> list[Row]:
    """The same 8 samples in rows of 8192 tokens each, padded to the longest of 8 or 2, one at a time, and packed: our
    step at TP=1."""
    job = {"model": model, "side": "elcano", "threads": 1, "seq_len": 8192, "num_samples": 8, "lengths": lengths}
    padded, packed = {**job, "mode": "padded"}, {**job, "mode": "packed"}
    turns = {
        "padded to 8192": {**padded, "batch_size": 1, "pad_to_seq_len": True},
        "padded to the longest of 8": {**padded, "batch_size": 8},
        "padded to the longest of 2": {**padded, "batch_size": 2},
        "one at a time": {**padded, "batch_size": 1},
        "packed into 8192": packed,
    }
    rows = [Row(model, name, 1) for name in turns]
    _take_turns(rows, [(teams.tp1, turn) for turn in turns.values()], rounds)
    _check_losses(rows)
    return rows


def compare_trajectories(teams: Teams, model: str, rounds: int) -> list[Row]:
    """Mixed trajectories on two replicas: every step a sample, in a row of 8192 tokens or padded to the longest of 8 or
    2; packed, dealt out by number and by cost; and steps that go on from each other as one sequence."""
    job = {"model": model, "side": "elcano", "threads": 1, "seq_len": 8192, "num_samples": _NUM_TRAJECTORIES}
    padded = {**job, "lengths": "trajectories", "mode": "padded"}
    packed = {**padded, "mode": "packed"}
    turns = {
        "padded to 8192": {**padded, "batch_size": 1, "pad_to_seq_len": True},
        "padded to the longest of 8": {**padded, "batch_size": 8},
        "padded to the longest of 2": {**padded, "batch_size": 2},
        "packed, dealt out by number": {**packed, "dealt_by": "number"},
        "packed, dealt out by cost": packed,
        "whole trajectories, packed": {**packed, "chained": True},
    }
    rows = [Row(model, name, 2) for name in turns]
    _take_turns(rows, [(teams.dp2, turn) for turn in turns.values()], rounds)
    _check_losses(rows)
    return rows


def _take_turns(rows: list[Row], turns: list[tuple[Team, dict[str, Any]]], rounds: int) -> None:
    for team, job in turns:
        team.ask("prepare", job)
    for _ in range(rounds):
        for row, (team, job) in zip(rows, turns, strict=True):
            cpu, start = usage.cpu_s().total(), time.perf_counter()
            answer = team.ask("run", job)
            row.seconds.append(time.perf_counter() - start)
            row.cpu_seconds.append(usage.cpu_s().total() - cpu)
            row.tokens, row.computed = answer["tokens"], answer["computed"]
            row.loss, row.work = answer["loss"], answer["work"]


def _check_losses(rows: list[Row]) -> None:
    """All sides did the same work (but Hugging Face's own loss, which weighs samples by their length)."""
    losses = {row.name: row.loss for row in rows}
    assert max(losses.values()) - min(losses.values()) < _LOSS_TOLERANCE, f"losses differ: {losses}"
