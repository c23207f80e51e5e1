"""From shards to what an algorithm trains on: candidate actions, its columns, and the samples that they give a weight.

    <run_dir>/<round>/candidates.parquet    what else might be done   collection/sample_candidates.py
    <run_dir>/<round>/candidate-shards/     with them                 toolkits/convert_to_tar_data.py
    <run_dir>/<round>/representation/       whose features are read   toolkits/make_representation_data.py, ...
    <run_dir>/<round>/critic/               whose values are asked    training/make_columns.sh, training/train.sh
    <run_dir>/<round>/columns/              what is thought of it     training/make_columns.sh, training/score.sh
    <run_dir>/<round>/weighted-shards/      what is learned from      toolkits/convert_to_tar_data.py

What an algorithm reads is known to these commands alone; here it is a name.
"""

import dataclasses
import subprocess
from pathlib import Path
from typing import Any

from collection.config.commands import CandidatesConfig
from common.defaults import ROOT
from common.errors import UserError
from common.options.flags import flags, variables
from elcano.executors.executor import Command, python
from elcano.recipe import Recipe, Round
from elcano.stages.commands import Commands
from training.options import TrainingOptions

_OF_TRAINING = (
    *("ALGORITHM", "ALGORITHM_OPTIONS", "TP", "PP", "CP", "DP", "SP", "PR", "TE", "HOST_GPU_NUM"),
    *("BATCH_SIZE", "PACKING", "SEQ_LEN", "IMAGE_NUM", "LOSS"),
)
"""What samples are scored with as they are trained on."""


def check_algorithms(recipe: Recipe) -> None:
    """At a run's start: `UserError` for an algorithm, or options of it, that would be refused after an exploration."""
    for round in recipe.rounds:
        training = recipe.training_of(round)
        if (training.algorithm, training.algorithm_options) == ("sft", ""):
            continue  # asking takes the seconds in which torch is imported
        said = {name: getattr(training, name) for name in ("algorithm", "algorithm_options")}
        said |= {"critic": round.critic, "candidates": bool(round.candidates)}
        if round.agent == "policy" and round.trajectories is None:
            said |= {name: _drawn_with(recipe, name) for name in ("temperature", "top_k", "top_p")}
        words = python("-m", "training.critics.check_algorithm", **said)
        done = subprocess.run(words, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if done.returncode:
            line = (done.stderr.strip().splitlines() or ["its check ended without a word"])[-1]
            raise UserError(f"recipe {recipe.name}: {round.name}: {line.removeprefix('error: ')}")


def _drawn_with(recipe: Recipe, name: str) -> float:
    asked = getattr(recipe.exploration, name)
    return getattr(recipe.serving, name) if asked is None else asked


def make_columns(
    commands: Commands, round: Round, policy: Path, data: dict[str, list[Path]], shards: Path
) -> tuple[Path, list[Path]]:
    """(shards to train on, files of columns) for the algorithm that a round trains with; the policy's Megatron form is
    there already."""
    folder, candidates = commands.run_dir / round.name, {}
    if round.candidates:
        candidates = {
            "candidates": _draw_candidates(commands, round, round.candidates, policy, shards),
            "share_images": True,
        }
        shards = commands.pack(round.name, "candidate-shards", data, **candidates)
    columns = folder / "columns"
    if round.representation:
        _fine_tune(commands, round, round.representation, data)
    with commands.logbook.stage(f"{round.name}/columns") as needed:
        if needed:
            columns.mkdir(exist_ok=True)
            said, scores = _said(commands, round, shards), columns / "logprobs.parquet"
            _call(commands, round, "score", {**said, "OUTPUT": str(scores)})
            if round.critic:
                said["COLUMN_FILES"] = str(critic_values(commands, round, shards, columns))
            said |= {"MONTE_CARLO": "true", "SCORES": str(scores) if scores.exists() else "", "GAMMA": ""}
            _call(commands, round, "make_columns", {**said, "OUTPUT": str(columns / "algorithm.parquet")})
    made = [path for path in (columns / "algorithm.parquet", columns / "logprobs.parquet") if path.exists()]
    if has_weights(made[0]):
        shards = commands.pack(round.name, "weighted-shards", data, weights=made[0], **candidates)
    return shards, made


def has_weights(path: Path) -> bool:
    """Whether an algorithm leaves samples out."""
    from data.shards.columns import names_in  # imported here: pyarrow takes long, and most recipes need none of it

    return "weight" in names_in(path)


def critic_values(commands: Commands, round: Round, shards: Path, folder: Path) -> Path:
    """The values of samples by a round's critic, which is fitted to them if it is not fitted yet; files in `folder`."""
    if round.critic == "heads":
        return _head_values(commands, round, shards, folder)
    features, values, own = folder / "features.parquet", folder / "values.parquet", commands.run_dir / round.name
    said = {**_said(commands, round, shards), "ALGORITHM": "", "WRITE": "features", "OUTPUT": str(features)}
    if round.representation:
        said |= {"CHECKPOINT": str(_representation(commands, round)), "AFTER_QUESTION": "true"}
    _call(commands, round, "score", said)
    critic = {"FEATURES": str(features), "CRITIC": str(own / "columns" / "critic.pt"), "TARGET": round.critic}
    critic |= {"FOLDS": str(round.critic_folds), "TRAIN_ITERS": str(round.critic_iters)}
    unset = dict.fromkeys(("BATCH_SIZE", "LR", "SEED", "GAMMA", "TAU", "WIDTH"), "")  # a shell's are others'
    _call(commands, round, "feature_critic", {"DATASET_PATH": str(shards), **critic, "OUTPUT": str(values), **unset})
    return values


def _head_values(commands: Commands, round: Round, shards: Path, folder: Path) -> Path:
    """By value heads on a copy of the policy, trained on the round's own samples when these are asked about."""
    own, values = commands.run_dir / round.name, folder / "values.parquet"
    said = {**_said(commands, round, shards), "ALGORITHM_OPTIONS": ""}
    if folder == own / "columns":
        options = round.critic_training or commands.recipe.training_of(round)
        options = dataclasses.replace(options, algorithm="critic", algorithm_options="")
        outcomes, unset = folder / "outcomes.parquet", dict.fromkeys(("GAMMA", "SCORES", "MONTE_CARLO"), "")
        _call(commands, round, "make_columns", {**said, **unset, "ALGORITHM": "critic", "OUTPUT": str(outcomes)})
        commands.train(round.name, options, shards, own / "critic", "critic", {"COLUMN_FILES": str(outcomes)})
    heads = {"ALGORITHM": "", "WRITE": "values", "CHECKPOINT": str(own / "critic" / "checkpoint" / "critic")}
    _call(commands, round, "score", {**said, **heads, "OUTPUT": str(values)})
    return values


def _representation(commands: Commands, round: Round) -> Path:
    return commands.run_dir / round.name / "representation" / "checkpoint" / "representation"


def _fine_tune(commands: Commands, round: Round, how: TrainingOptions, data: dict[str, list[Path]]) -> None:
    """A copy of the policy learns to say whether an action changed the screen."""
    folder = commands.run_dir / round.name / "representation"
    with commands.logbook.stage(f"{round.name}/representation") as needed:
        if needed:
            samples, name = folder / "samples.json", "representation"
            asked = python("toolkits/make_representation_data.py", **data, save_json_file=samples)
            commands.run(asked, round.name, name)
            images = {"json_files": [samples], "image_dirs": data["image_dirs"]}
            commands.run(
                python("toolkits/convert_to_tar_data.py", **images, save_dir=folder / "shards"), round.name, name
            )
            commands.train(round.name, how, folder / "shards", folder, name)


def _said(commands: Commands, round: Round, shards: Path) -> dict[str, str]:
    """The variables with which samples are scored under the policy that explored."""
    options = commands.recipe.training_of(round)
    said = {name: value for name, value in variables(options, every=True).items() if name in _OF_TRAINING}
    policy = commands.run_dir / round.name / "megatron"
    unset = dict.fromkeys(("WRITE", "AFTER_QUESTION", "TOKEN_LOGPROBS", "TOKEN_COLUMN"), "")  # a shell's are others'
    return {**said, **unset, "DATASET_PATH": str(shards), "CHECKPOINT": str(policy), "COLUMN_FILES": ""}


def _call(commands: Commands, round: Round, command: str, said: dict[str, str]) -> None:
    """A command of training/ with its variables, on one node with what each of training's has."""
    words, log = ["bash", f"training/{command}.sh"], commands.log(round.name, command)
    needs = commands.recipe.needs.training
    if needs.num_nodes > 1:
        said, needs = {**said, "DP": ""}, dataclasses.replace(needs, num_nodes=1)
    commands.executor.run(Command(words, log, said), needs)


def candidates_of(recipe: Recipe, how: CandidatesConfig, **own: Any) -> CandidatesConfig:
    """How a round's candidates are drawn: read as the policy spoke when it explored."""
    return dataclasses.replace(how, **own, action_space=recipe.exploration.action_space)


def _draw_candidates(commands: Commands, round: Round, how: CandidatesConfig, policy: Path, shards: Path) -> Path:
    output = commands.run_dir / round.name / "candidates.parquet"
    with commands.logbook.stage(f"{round.name}/candidates") as needed:
        if needed:
            with commands.policy(round.name, policy) as url:
                config = candidates_of(commands.recipe, how, dataset_path=shards, output=output, api_localhost=(url,))
                commands.run(python("collection/sample_candidates.py", *flags(config)), round.name, "candidates")
    return output
