"""kill -9 at random steps: what follows is what an uninterrupted run computes, and no sample is lost or seen twice.

`KILL_SEED=7 bash tests/run.sh --slow tests/training/checkpoints/test_exact_resume.py` repeats the kills of a run that
printed it.
"""

import functools
import os
import random
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.training.script import Run, steps, wait_until_gone

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

STEPS = 24
SEED = int(os.environ.get("KILL_SEED", time.time_ns() % 1_000_000))
TP2 = {"tp": 2, "num_workers": 2}
DP2 = {"tp": 1, "dp": 2, "do": "true", "packing": "true", "batch_size": 1, "seq_len": 512}
LAYOUTS = {
    "the same layout, three times": (TP2, TP2, 3),
    "TP2 to TP1": (TP2, {"tp": 1}, 1),
    "DP2 with the distributed optimizer to PP2": (DP2, {"dp": 1, "pp": 2}, 1),
}
TOLERANCE = 1e-5  # of losses, once the layout has changed


@pytest.fixture(scope="module")
def start(shards: Path, megatron: Path) -> Callable[..., Run]:
    """A run of `STEPS` steps with a checkpoint every third."""
    return functools.partial(Run, shards, megatron, train_iters=STEPS, save_interval=3)


@pytest.fixture(scope="module")
def uninterrupted(start: Callable[..., Run], tmp_path_factory: pytest.TempPathFactory) -> Callable[..., list[dict]]:
    """What a run with some options does when nobody disturbs it."""

    @functools.cache
    def of(options: tuple[tuple[str, object], ...]) -> list[dict]:
        run = start(tmp_path_factory.mktemp("uninterrupted"), **dict(options))
        run.finish()
        return steps(run)

    return lambda options: of(tuple(options.items()))


@pytest.mark.parametrize("case", LAYOUTS)
def test_a_killed_run_goes_on_as_if_nothing_had_happened(
    case: str, start: Callable[..., Run], uninterrupted: Callable[..., list[dict]], tmp_path: Path
) -> None:
    before, after, num_kills = LAYOUTS[case]
    rng = random.Random(f"{SEED} {case}")
    kills = [rng.randint(2, 6) for _ in range(num_kills)]
    print(f"KILL_SEED={SEED}: {case}, killed after {kills} steps each")
    expected = {step["iteration"]: step for step in uninterrupted(before)}
    assert sorted(expected) == list(range(1, STEPS + 1))
    for number, num_steps in enumerate(kills):
        run = start(tmp_path, **(before if number == 0 else {**before, **after}))
        run.wait_for_steps(num_steps)
        time.sleep(rng.uniform(0, 0.5))  # anywhere in a step, or while a checkpoint is being written
        run.kill()
        wait_until_gone(str(tmp_path))
    done_before = len(steps(run))
    run = start(tmp_path, **{**before, **after})
    run.finish()

    done = steps(run)
    assert {step["iteration"] for step in done} == set(expected)
    differences = []
    for number, step in enumerate(done):
        same = expected[step["iteration"]]
        assert step["samples"] == same["samples"]
        if number < done_before or before == after:
            assert (step["loss"], step["grad_norm"], step["lr"]) == (same["loss"], same["grad_norm"], same["lr"])
        differences.append(abs(step["loss"] - same["loss"]))
    print(f"{case}: {len(done) - STEPS} steps done again, losses differ by at most {max(differences):.1e}")
    assert max(differences) <= TOLERANCE
