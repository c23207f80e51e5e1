"""How probable a checkpoint finds the replies of samples: `training/score.sh` on shards made for it."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from common.errors import UserError
from common.processes import die_with_parent
from data.shards.shard import Sample, write_shards
from toolkits.shards.energon_index import write_energon_index

ROOT = Path(__file__).resolve().parents[2]
_CONVERT = ROOT / "toolkits" / "model_checkpoints_convertor" / "convert.py"
_SAMPLES_PER_SHARD = 500


def score_samples(checkpoint: Path, samples: Sequence[Sample], work_dir: Path) -> dict[str, dict[str, Any]]:
    """`training/critics/score.py`'s row (`logprob`, `num_tokens`, `perplexity`, ...) of each sample's reply, by sample
    id.

    `checkpoint` is a Hugging Face or a Megatron folder; `work_dir` is an empty one. Layout, precision and lengths are
    those of score.sh's variables in the environment: TP, PP, PR, SEQ_LEN, IMAGE_NUM, ...

    Raises:
        UserError: what score.sh says is wrong.
    """
    from data.shards.columns import read_rows  # imported here: pyarrow takes a second

    shards, table = work_dir / "shards", work_dir / "scores.parquet"
    shards.mkdir(parents=True)
    manifest = write_shards(shards, samples, _SAMPLES_PER_SHARD, source={"scored_by": str(checkpoint)})
    write_energon_index(shards, [shard["url"] for shard in manifest["shards"]])
    megatron = _as_megatron(checkpoint, work_dir / "megatron")
    flags = ["--checkpoint", str(megatron), "--dataset_path", str(shards), "--output", str(table)]
    _run(["bash", str(ROOT / "training" / "score.sh"), *flags])
    rows = {row["id"]: row for row in read_rows(table)}
    return {sample.id: rows[sample.key] for sample in samples}


def _as_megatron(checkpoint: Path, target: Path) -> Path:
    """`checkpoint` itself when it is Megatron's, else converted into `target`."""
    if not checkpoint.is_dir():
        raise UserError(f"{checkpoint}: no such checkpoint folder")
    if not any(checkpoint.glob("*.safetensors")):
        return checkpoint
    folders = ["--load_path", str(checkpoint), "--save_path", str(target)]
    _run([sys.executable, str(_CONVERT), "--direction", "hf2mg", *folders])
    return target


def _run(command: list[str]) -> None:
    """Run a command of ours; its last `error: ...` line becomes the UserError."""
    environment = {**os.environ, "PYTHON": sys.executable}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, preexec_fn=die_with_parent)
    if done.returncode:
        lines = [line.strip() for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        errors = [line.removeprefix("error: ") for line in lines if line.startswith("error: ")]
        script = next(Path(word).name for word in command if word.endswith((".sh", ".py")))
        raise UserError(f"{script}: {(errors or lines or ['no output'])[-1]}")
