"""What `bash train_idefics2.sh` does with nothing set: the starting policy imitates the embedded teacher for 40 steps.

Data set and policy come with the repository. The run is the same as any other, between the same two converters that a
person would type; `runs/demonstration/` holds what they leave behind, `policy/` the trained checkpoint.
"""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import torch

from common.defaults import DEMONSTRATIONS, ROOT, STARTING_POLICY, shipped, short
from common.errors import UserError
from common.files import make_folder
from common.processes import num_cores
from data.checkpoint_folder import read_tracker
from data.shards.shard import read_manifest
from models.registry import family
from training.config import Config, parse, script_of
from training.memory.per_gpu import known_shapes

PATHS = ("DATASET_PATH", "PRETRAIN_CHECKPOINT_PATH")
_UNSET = "unset"
OUTPUT = ROOT / "runs" / "demonstration"
# Values of the quickstart's recipe, for a policy of 2.7 M parameters; what the user sets wins.
VARIABLES = {
    "PR": "fp32",
    "AC": "none",
    "SEQ_LEN": "2048",
    "IMAGE_NUM": "1",
    "GLOBAL_BATCH_SIZE": "4",
    "LR": "7e-4",
    "MIN_LR": "1e-5",
    "LR_WARMUP_ITERS": "5",
    "TRAIN_ITERS": "40",
    "NUM_WORKERS": "0",
    "RUN_NAME": "demonstration",
}
_OWN = "DATASET_PATH=SHARDS PRETRAIN_CHECKPOINT_PATH=MEGATRON_DIR OUTPUT_BASEPATH=DIR bash {}"
_MADE_BY = {
    "DATASET_PATH": "a shard folder made by toolkits/convert_to_tar_data.py",
    "PRETRAIN_CHECKPOINT_PATH": "a Megatron checkpoint made by toolkits/model_checkpoints_convertor/{}hf2mg.sh",
}


def is_wanted(model: str, arguments: Sequence[str]) -> bool:
    """Whether neither data nor checkpoint are given.

    Raises:
        UserError: one of the two is missing, or both for a model that the demonstration is not of.
    """
    config = _parse_without_paths(arguments)
    missing = [name for name in PATHS if str(getattr(config, name.lower())) == _UNSET]
    if config.dry_run:
        return _dry_run_is_wanted(model, missing)
    if not missing:
        return False
    own_converters = ROOT / "toolkits" / "model_checkpoints_convertor" / model
    converters = f"{model}/" if model and own_converters.is_dir() else ""
    what = " and ".join(f"{name} ({_MADE_BY[name].format(converters)})" for name in missing)
    own = _own(model)
    if len(missing) == 1:
        raise UserError(f"{what} is missing; both or neither: {own}")
    if model not in ("", family(_starting_policy()).name):
        raise UserError(f"the demonstration is of idefics2, by train_idefics2.sh; here set {what}: {own}")
    if config.host_num != 1:
        raise UserError(f"the demonstration runs on one host; for several set {what}")
    return True


def _parse_without_paths(arguments: Sequence[str]) -> Config:
    """The options, where `PATHS` that neither a flag nor a variable gives are `_UNSET`."""
    unset = [word for name in PATHS if not os.environ.get(name) for word in (f"--{name.lower()}", _UNSET)]
    return parse([*unset, *arguments])


def _dry_run_is_wanted(model: str, missing: Sequence[str]) -> bool:
    """A dry run reads no data, and no weights either: a family's released shape is enough where there is one alone."""
    if "PRETRAIN_CHECKPOINT_PATH" in missing:
        shapes = [name for name, kind in known_shapes().items() if model in ("", kind)]
        if len(shapes) != 1:
            raise UserError(
                f"--dry_run needs PRETRAIN_CHECKPOINT_PATH: a checkpoint folder, or a known shape: {', '.join(shapes)}"
            )
        print(f"no PRETRAIN_CHECKPOINT_PATH: counted for the shape of {shapes[0]}")
        os.environ["PRETRAIN_CHECKPOINT_PATH"] = shapes[0]
    if "DATASET_PATH" in missing:
        os.environ["DATASET_PATH"] = "none"
    return False


def prepare(arguments: Sequence[str]) -> None:
    """Set the variables of the run, which its ranks read too, and convert the starting policy once."""
    policy = _starting_policy()
    num_gpus, cores = torch.cuda.device_count(), num_cores()
    layout = {"TP": str(min(2, num_gpus or cores))}
    for name, value in {**VARIABLES, **layout, "OUTPUT_BASEPATH": str(OUTPUT)}.items():
        os.environ.setdefault(name, value)
    config = _parse_without_paths(arguments)
    output = config.output_basepath
    os.environ["DATASET_PATH"] = str(DEMONSTRATIONS)
    os.environ["PRETRAIN_CHECKPOINT_PATH"] = str(output / "megatron")
    samples = read_manifest(DEMONSTRATIONS)["num_samples"]
    print(
        f"neither DATASET_PATH nor PRETRAIN_CHECKPOINT_PATH is set: a demonstration, the starting policy "
        f"{short(policy)} on {samples} samples of the embedded teacher, TP={config.tp} on "
        f"{num_gpus or cores} {'GPUs' if num_gpus else 'CPU cores'}, into {short(output)}",
        flush=True,
    )
    make_folder(output, "OUTPUT_BASEPATH")
    if not _is_newer(output / "megatron", policy):
        _convert("hf2mg", policy, output / "megatron")


def finish(config: Config) -> None:
    """Convert what was trained where that is not done, and say how to go on."""
    policy = config.output_basepath / "policy"
    if not _is_newer(policy, config.checkpoint_path):
        _convert("mg2hf", config.checkpoint_path, policy)
    server = short(ROOT / "server" / "hf_online_server.py")
    print(
        f"trained checkpoint: {short(policy)}; serve it: python {server} --model_name_or_path {short(policy)}; "
        f"train your own: {_own(config.model_type)}"
    )


def _own(model: str) -> str:
    """A line to copy: how one's own training starts from here."""
    return _OWN.format(short(ROOT / "training" / script_of(model)))


def _starting_policy() -> Path:
    return shipped(STARTING_POLICY, "set DATASET_PATH and PRETRAIN_CHECKPOINT_PATH")


def _is_newer(made: Path, source: Path) -> bool:
    """Whether `made` was converted from `source` as it is now."""
    complete = read_tracker(made) is not None or (made / "config.json").exists()
    return complete and made.stat().st_mtime > max(path.stat().st_mtime for path in source.iterdir())


def _convert(direction: str, source: Path, target: Path) -> None:
    script = ROOT / "toolkits" / "model_checkpoints_convertor" / f"{direction}.sh"
    target.parent.mkdir(parents=True, exist_ok=True)
    command = ["bash", str(script), "--load_path", str(source), "--save_path", str(target)]
    print(f"$ {' '.join(command)}", flush=True)
    environment = {name: value for name, value in os.environ.items() if name != "TP"}  # of training, not of a converter
    done = subprocess.run(command, env={**environment, "PYTHON": sys.executable})
    if done.returncode:
        raise UserError(f"{direction}.sh ended with code {done.returncode}")
