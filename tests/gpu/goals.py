"""What the figures of a short proof were to show, each held or not held, beside the figure."""

from collections.abc import Iterator, Mapping
from typing import Any

from tests.gpu.result import STOPPED, Result

MFU, MEMORY, TIMES_GENERATE = 0.40, 0.10, 20.0
_GOAL_ROWS = ("qwen3_vl_4b_packed_learned", "qwen3_vl_8b_packed_learned")


def judged(results: Mapping[str, Result]) -> list[dict[str, str]]:
    """[{"goal", "held": yes, no or not measured, "figure"}]"""
    figures = {name: one.figures for name, one in results.items() if one.status == "pass" and one.figures}
    return [*_parity(results), *_training(figures), *_memory(figures), *_serving(figures)]


def _goal(goal: str, held: bool | None, figure: str = "") -> dict[str, str]:
    return {"goal": goal, "held": {True: "held", False: "not held", None: "not measured"}[held], "figure": figure}


def _parity(results: Mapping[str, Result]) -> Iterator[dict[str, str]]:
    goal, found = "fp32 and bf16 as Hugging Face", results.get("parity")
    if found is None or found.status == "skip" or found.reason.startswith(STOPPED):
        yield _goal(goal, None)
    else:
        yield _goal(goal, found.status == "pass", found.summary or found.reason)


def _training(figures: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    for row in _GOAL_ROWS:
        goal, found = f"MFU of at least {MFU:.0%}, tower counted: {row}", figures.get(f"training.{row}")
        if found is None or found["mfu"] is None:
            yield _goal(goal, None)
        else:
            yield _goal(goal, found["mfu"] >= MFU, f"{found['mfu']:.1%} with {found['layers']} layers")
    ours, theirs = (
        figures.get(f"training.{name}")
        for name in ("qwen3_vl_4b_packed_learned", "transformers_qwen3_vl_4b_learned_compiled")
    )
    if ours and theirs:
        times = ours["samples_per_s"] / theirs["samples_per_s"]
        yield _goal("faster than transformers, compiled: qwen3_vl_4b", times > 1.0, f"{times:.2f} times")


def _memory(figures: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    """Of every row on a GPU that said how much it would take."""
    for name, found in figures.items():
        if "dry_run_gib" in found and found["gpu"] != "none":
            share = found["peak_memory_gib"] / found["dry_run_gib"]
            figure = f"{found['peak_memory_gib']:.1f} GiB, {share:.0%} of what it said"
            yield _goal(f"memory within {MEMORY:.0%} of --dry_run: {name}", abs(share - 1) <= MEMORY, figure)


def _serving(figures: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    goal = f"serving at least {TIMES_GENERATE:.0f} times one generate a request at 64 agents"
    ours, one = figures.get("serving.ours_64"), figures.get("serving.generate_1")
    if not ours or not one or ours["agents"] != 64:
        yield _goal(goal, None)
        return
    times = ours["requests_per_s"] / one["requests_per_s"]
    yield _goal(goal, times >= TIMES_GENERATE, f"{times:.1f} times")
    if batched := figures.get("serving.batched_64"):
        times = ours["requests_per_s"] / batched["requests_per_s"]
        yield _goal("faster than batched generate at 64 agents", times > 1.0, f"{times:.2f} times")
