"""The layout of a Megatron checkpoint folder, shared by the trainer and the converters; what tells weights apart.

<folder>/latest_checkpointed_iteration.txt   "release" (converted from Hugging Face) or an iteration number
<folder>/release/ or <folder>/iter_0000100/  megatron-core `torch_dist` checkpoints
<folder>/config.json, tokenizer.json, ...    the Hugging Face files, so that the way back needs nothing else
"""

import hashlib
import shutil
from pathlib import Path
from typing import Any

from common.errors import UserError
from common.files import read_json, write_atomic

RELEASE = "release"
IDENTITY_FILE = "run.json"
"""In an iteration's folder: the data and the layout it was made with."""
_TRACKER = "latest_checkpointed_iteration.txt"
_BLOCK, _LONGEST_TRACKER = 2**20, 20
_HF_SUFFIXES = {".json", ".jinja", ".model", ".txt"}
_TEMPLATES = "additional_chat_templates"
"""transformers' folder of a tokenizer's further templates, by name."""


def iteration_name(iteration: int) -> str:
    """The folder of a checkpoint made in training."""
    return f"iter_{iteration:07d}"


def read_tracker(folder: Path) -> str | None:
    """ "release" or an iteration number as text; None when nothing was completed in `folder`.

    Raises:
        UserError: it says something else.
    """
    path = Path(folder) / _TRACKER
    if not path.exists():
        return None
    said = path.read_bytes()[:_LONGEST_TRACKER].decode(errors="replace").strip()
    if said != RELEASE and not (said.isascii() and said.isdecimal()):
        raise UserError(f"{path}: says {said!r}, which is no iteration; it would be a number, or {RELEASE!r}")
    return said


def write_tracker(folder: Path, latest: str) -> None:
    """Declare `latest` complete; the last act of saving."""
    write_atomic(Path(folder) / _TRACKER, latest)


def is_megatron(folder: Path) -> bool:
    """Whether a folder holds Megatron's weights, of whatever layout: a run's checkpoints, or one iteration."""
    marks = (_TRACKER, "metadata.json", "mp_rank_*")
    return not any(folder.glob("*.safetensors")) and any(any(folder.glob(mark)) for mark in marks)


def find_weights(folder: Path) -> tuple[Path, Path]:
    """(folder of the weights, folder of the Hugging Face files); `folder` is a checkpoint folder or one iteration.

    Raises:
        UserError: `folder` is not a complete Megatron checkpoint.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise UserError(f"{folder}: no such checkpoint folder")
    if (folder / "metadata.json").exists():
        return folder, folder.parent
    latest = read_tracker(folder)
    if latest is None:
        hint = "; this is a Hugging Face folder, convert it with hf2mg.sh" if any(folder.glob("*.safetensors")) else ""
        raise UserError(f"{folder}: not a Megatron checkpoint (no {_TRACKER}){hint}")
    if latest != RELEASE and not latest.isdecimal():
        raise UserError(f"{folder}: {_TRACKER} says {latest!r}, which is no iteration")
    weights = folder / (RELEASE if latest == RELEASE else iteration_name(int(latest)))
    if not (weights / "metadata.json").exists():
        raise UserError(f"{weights}: named by {_TRACKER}, but missing or incomplete")
    return weights, folder


def fingerprint(folder: Path, files: str = "*.safetensors") -> str:
    """12 hex digits that change when the weights do: a hash of each of the files, or of 64 MiB spread over it."""
    digest = hashlib.sha256()
    for path in sorted(folder.glob(files)):
        size = path.stat().st_size
        digest.update(f"{path.name} {size}\n".encode())
        with open(path, "rb") as file:
            for offset in range(0, size, max(_BLOCK, size // 64)):
                file.seek(offset)
                digest.update(file.read(_BLOCK))
    return digest.hexdigest()[:12]


def critic_of(weights: Path) -> str | None:
    """The fingerprint of the policy that a critic's training began with, from an iteration's folder; None where it
    began with another critic, or nothing says so."""
    return _identity(weights).get("policy")


def is_critic(weights: Path) -> bool:
    """Whether an iteration's folder says that its run trained value heads; of older ones nothing does."""
    return "policy" in _identity(weights)


def trained_on(weights: Path) -> tuple[str, str]:
    """Digests of the shards that an iteration was trained on, and of the mix that these are of
    (data/shards/mix_file.py); "" of what nothing says."""
    data, mix = (_identity(weights).get(name) for name in ("data", "mix"))
    return (data if isinstance(data, str) else "", mix if isinstance(mix, str) else "")


def unfinished(weights: Path) -> str:
    """Where an iteration is of a run that did not come to its end; "" of one that did, and where nothing says so."""
    planned, done = _identity(weights).get("train_iters"), weights.name.removeprefix("iter_")
    if not isinstance(planned, int) or not done.isdecimal() or int(done) >= planned:
        return ""
    return f"step {int(done)} of {planned}: its run has not come to its end"


def _identity(weights: Path) -> dict[str, Any]:
    path = weights / IDENTITY_FILE
    said = read_json(path) if path.exists() else None
    return said if isinstance(said, dict) else {}


def copy_hf_files(source: Path, destination: Path) -> None:
    """Copy configuration, processor and tokenizer files, but no weights."""
    for path in sorted(Path(source).iterdir()):
        is_index = path.name.endswith(".index.json")
        if (
            path.is_file()
            and path.suffix in _HF_SUFFIXES
            and not is_index
            and path.name not in (_TRACKER, "manifest.json")
        ):
            shutil.copyfile(path, Path(destination) / path.name)
    for path in sorted(Path(source, _TEMPLATES).glob("*.jinja")):
        (Path(destination) / _TEMPLATES).mkdir(exist_ok=True)
        shutil.copyfile(path, Path(destination) / _TEMPLATES / path.name)
