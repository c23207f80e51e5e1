"""From shards to what an algorithm trains on: candidate actions, its columns, and the samples that they give a weight.

    <run_dir>/<round>/candidates.parquet    what else might be done   collection/sample_candidates.py
    <run_dir>/<round>/candidate-shards/     with them                 toolkits/convert_to_tar_data.py
    <run_dir>/<round>/columns/              what is thought of it     training/make_columns.sh, training/score.sh
    <run_dir>/<round>/weighted-shards/      what is learned from      toolkits/convert_to_tar_data.py

What an algorithm reads is known to these commands alone; here it is a name.
"""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

from common.flags import flags, variables
from elcano.executors.executor import Command, python
from elcano.recipe import Round

if TYPE_CHECKING:
    from elcano.rounds import Stages

_OF_TRAINING = (
    *("ALGORITHM", "ALGORITHM_OPTIONS", "TP", "PP", "CP", "DP", "SP", "PR", "TE", "HOST_GPU_NUM"),
    *("BATCH_SIZE", "PACKING", "SEQ_LEN", "IMAGE_NUM", "LOSS"),
)
"""What samples are scored with as they are trained on."""


def make_columns(
    stages: "Stages", round: Round, policy: Path, data: dict[str, list[Path]], shards: Path
) -> tuple[Path, list[Path]]:
    """(shards to train on, files of columns) for the algorithm that a round trains with; the policy's Megatron form is
    there already."""
    folder, candidates = stages.run_dir / round.name, {}
    if round.candidates:
        candidates = {"candidates": _draw_candidates(stages, round, policy, shards), "share_images": True}
        shards = stages.pack(round.name, "candidate-shards", data, **candidates)
    columns, options = folder / "columns", stages.recipe.training_of(round)
    with stages.logbook.stage(f"{round.name}/columns") as needed:
        if needed:
            columns.mkdir(exist_ok=True)
            said = {name: value for name, value in variables(options, every=True).items() if name in _OF_TRAINING}
            said |= {"DATASET_PATH": str(shards), "CHECKPOINT": str(folder / "megatron"), "MONTE_CARLO": "true"}
            said["COLUMN_FILES"] = ""
            if round.critic:
                said["COLUMN_FILES"] = str(_values(stages, round, said, columns))
            _call(stages, round, "make_columns", {**said, "OUTPUT": str(columns / "algorithm.parquet")})
            _call(stages, round, "score", {**said, "OUTPUT": str(columns / "logprobs.parquet")})
    made = [path for path in (columns / "algorithm.parquet", columns / "logprobs.parquet") if path.exists()]
    if has_weights(made[0]):
        shards = stages.pack(round.name, "weighted-shards", data, weights=made[0], **candidates)
    return shards, made


def has_weights(path: Path) -> bool:
    """Whether an algorithm leaves samples out."""
    from data.columns import names_in  # imported here: pyarrow takes long, and most recipes need none of it

    return "weight" in names_in(path)


def _values(stages: "Stages", round: Round, said: dict[str, str], columns: Path) -> Path:
    """Those of a critic on the policy's features."""
    features, values = columns / "features.parquet", columns / "values.parquet"
    _call(stages, round, "score", {**said, "ALGORITHM": "", "WRITE": "features", "OUTPUT": str(features)})
    own = {"DATASET_PATH": said["DATASET_PATH"], "FEATURES": str(features), "CRITIC": str(columns / "critic.pt")}
    unset = dict.fromkeys(("BATCH_SIZE", "LR", "SEED", "TRAIN_ITERS"), "")  # a shell's are those of training
    own |= {"OUTPUT": str(values), "TARGET": round.critic, **unset}
    _call(stages, round, "feature_critic", own)
    return values


def _call(stages: "Stages", round: Round, command: str, said: dict[str, str]) -> None:
    """A command of training/ with its variables."""
    words, log = ["bash", f"training/{command}.sh"], stages.log(round.name, command)
    stages.executor.run(Command(words, log, said), stages.recipe.needs.training)


def _draw_candidates(stages: "Stages", round: Round, policy: Path, shards: Path) -> Path:
    output = stages.run_dir / round.name / "candidates.parquet"
    with stages.logbook.stage(f"{round.name}/candidates") as needed:
        if needed:
            with stages.policy(round.name, policy) as url:
                config = dataclasses.replace(round.candidates, dataset_path=shards, output=output, api_localhost=(url,))
                stages.run(python("collection/sample_candidates.py", *flags(config)), round.name, "candidates")
    return output
