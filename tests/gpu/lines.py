"""The lines of the proof, each a function of (machine, result) that fills the result's commands and figures.

Each raises `SkippedError` where it cannot run, `FailedError` where a figure is wrong, and the `UserError` of a command
that failed.
"""

import json
import shlex
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from common.files import read_json
from elcano.executors.executor import Command, python
from elcano.executors.local import Executor
from tests.conftest import ROOT
from tests.gpu import parity
from tests.gpu.result import FailedError, Machine, Result, SkippedError
from tests.rehearsal.checkpoints import make_checkpoint
from tests.rehearsal.sizes import SIZES
from training.modules.kernels import look

STARTING_POLICY = ROOT / "examples" / "quickstart" / "starting_policy" / "weights"
QUICKSTART = ROOT / "examples" / "quickstart" / "recipe.py"
DISK_GIB = 40  # of an 8B checkpoint in bf16, twice, and what training writes

Line = Callable[[Machine, Result], None]


def parity_with_our_layers(machine: Machine, result: Result) -> None:
    """Loss, gradients and logits of every layout against Hugging Face's, in fp32 and bf16."""
    parity.run(machine, result, te="false")


def parity_with_transformer_engine(machine: Machine, result: Result) -> None:
    """The same with TransformerEngine's layers, so within twice the bounds of ours."""
    if not look().transformer_engine:
        why = "; ".join(look().unused) or "TransformerEngine is not installed"
        raise SkippedError("there is no GPU" if machine.small else why)
    parity.run(machine, result, te="true")


def training(machine: Machine, result: Result) -> None:
    """Steps of an 8B shape: tokens/s, MFU, and the peak of memory against `--dry_run`."""
    output = machine.folder / "training.json"
    small = {"cpu": True, "steps": 1, "rows": 1} if machine.small else {}
    command = [sys.executable, "-m", "benchmarks.training_gpu", *python("", output=output, **small)[2:]]
    _run(machine, result, command, "training")
    result.figures = figures = read_json(output)
    result.summary = (
        f"{figures['layers']} layers, TP={figures['tp']}: {figures['tokens_per_s']:.0f} tokens/s, MFU "
        f"{_percent(figures['mfu'])}, {figures['peak_memory_gib']:.1f} GiB ({figures['dry_run_gib']:.1f} by --dry_run)"
    )
    if not machine.small and figures["peak_memory_gib"] > 1.15 * figures["dry_run_gib"]:
        raise FailedError("more memory than 115 % of what --dry_run says")


def serving(machine: Machine, result: Result) -> None:
    """1, 16 and 64 agents against one `generate` for each request."""
    output = machine.folder / "serving.json"
    policy = STARTING_POLICY if machine.small else _policy_of_8b(machine)
    large = {
        "settings": ["1x1000", "16x1000", "64x1000"],
        "max_batch_size": 64,
        "prefill_chunk": 1024,
        "kv_cache_gib": 24.0,
    }
    options = ({"quick": True} if machine.small else large) | {"num_workers": 1, "sides": ["published", "ours"]}
    flags = {"model_name_or_path": policy, "output": output, **options}
    _run(machine, result, python("benchmarks/serving.py", **flags), "serving")
    result.figures = read_json(output)["rows"]
    ours = [row for row in result.figures if row["side"] == "ours"]
    result.summary = "; ".join(
        f"{row['agents']} agents: {row['requests_per_s']['median']:.2f} requests/s, "
        f"{row['requests_per_s_x_published']['median']:.1f} times"
        for row in ours
    )


def reload_under_load(machine: Machine, result: Result) -> None:
    """Agents that hang up while weights change: no reply is crossed or of a wrong version."""
    output = machine.folder / "reload.json"
    options = {"duration_s": 12, "num_clients": 4, "reload_every_s": 4} if machine.small else {"duration_s": 300}
    device = "cpu" if machine.small else "cuda:0"
    command = [
        sys.executable,
        "-m",
        "tests.server.cluster.soak",
        *python("", output=output, device=device, **options)[2:],
    ]
    _run(machine, result, command, "reload")
    result.figures = figures = read_json(output)
    result.summary = f"{figures['replies']} replies, {figures['reloads']} reloads, none crossed or of a wrong version"
    if not figures["reloads"] or not figures["replies"]:
        raise FailedError("nothing was asked or reloaded")


def real_path(machine: Machine, result: Result) -> None:
    """tests/rehearsal.sh: served and trained tokens, pixels and log-probabilities are the same."""
    if machine.num_gpus == 1:
        raise SkippedError("training at TP=2 needs two GPUs")
    fitting = [name for name, size in SIZES["full"].items() if size.tp <= machine.num_gpus]
    size = {"size": "tiny", "models": ["idefics2"]} if machine.small else {"models": fitting}
    output = machine.folder / "rehearsal"
    command = [sys.executable, "-m", "tests.rehearsal", *python("", output_dir=output, **size)[2:]]
    _run(machine, result, command, "rehearsal")
    result.figures = read_json(output / "rehearsal.json")
    held = [row["holds"] for found in result.figures.values() if isinstance(found, dict) for row in found["rows"]]
    result.summary = f"{sum(held)} of {len(held)} rows hold"


def quickstart(machine: Machine, result: Result) -> None:
    """Once around the loop; the trained policy must solve more of the test tasks than the untrained one."""
    output = machine.folder / "quickstart"
    recipe = small_recipe(machine.folder) if machine.small else QUICKSTART
    command = [sys.executable, "-m", "elcano.cli", "run", str(recipe), "--output_dir", str(output)]
    _run(machine, result, command, "quickstart")
    summary = read_json(output / "summary.json")
    result.figures = summary
    rates = [found["success_rate"] for found in summary["rounds"]]
    result.summary = (
        f"success {' -> '.join(f'{rate:.0%}' for rate in rates)} in {summary['total_seconds'] / 60:.0f} min"
    )
    if not machine.small and max(rates) <= rates[0]:
        raise FailedError("it did not learn")


LINES: dict[str, Line] = {
    function.__name__: function
    for function in (
        *(parity_with_our_layers, parity_with_transformer_engine, training, serving, reload_under_load),
        *(real_path, quickstart),
    )
}


def _run(machine: Machine, result: Result, command: list[str], name: str) -> None:
    result.commands.append(shlex.join(command))
    Executor().run(Command(command, machine.folder / "logs" / f"{name}.log"))


def _policy_of_8b(machine: Machine) -> Path:
    """idefics2-8b with random weights; all of its layers."""
    folder = machine.folder / "idefics2-8b"
    if machine.gpu_memory_gib < 40:
        raise SkippedError(f"8B in bf16 and its keys and values want 40 GiB, this GPU has {machine.gpu_memory_gib:.0f}")
    if not folder.exists():
        free = shutil.disk_usage(machine.folder).free / 2**30
        if free < DISK_GIB:
            raise SkippedError(f"{machine.folder}: {free:.0f} GiB of disk are free, {DISK_GIB} are needed")
        partial = folder.with_name("idefics2-8b.partial")
        shutil.rmtree(partial, ignore_errors=True)
        make_checkpoint(partial, "idefics2-8b", {})
        partial.rename(folder)
    return folder


def small_recipe(folder: Path) -> Path:
    """The quickstart with two tasks in every round and two optimizer steps."""
    lines = []
    for split in ("IL", "optim-1", "test"):
        tasks = (ROOT / "data" / "tasks" / f"{split}.jsonl").read_text().splitlines(keepends=True)
        lines = [task for task in tasks if "price" in json.loads(task)["id"]][:2]
        (folder / f"{split}.jsonl").write_text("".join(lines))
    path = folder / "recipe.py"
    path.write_text(
        "import dataclasses\n"
        "from pathlib import Path\n"
        "from examples.quickstart.recipe import recipe as whole\n"
        "HERE = Path(__file__).parent\n"
        "def recipe():\n"
        "    full = whole()\n"
        "    training = dataclasses.replace(full.training, train_iters=2, train_epochs=0.0)\n"
        "    rounds = [dataclasses.replace(one, tasks=HERE / f'{one.name}.jsonl', training=training)\n"
        "        for one in full.rounds[:2]]\n"
        "    few = {'max_iter': 3, 'num_sessions': 2}\n"
        "    return dataclasses.replace(full, test_tasks=HERE / 'test.jsonl', num_test_tasks=None,\n"
        "        rounds=rounds, training=training,\n"
        "        teacher=dataclasses.replace(full.teacher, **few), testing=dataclasses.replace(full.testing, **few),\n"
        "        exploration=dataclasses.replace(full.exploration, **few, max_rerun_times=1))\n"
    )
    return path


def _percent(share: Any) -> str:
    return "unknown" if share is None else f"{share:.0%}"
