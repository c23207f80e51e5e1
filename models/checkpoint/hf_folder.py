"""A Hugging Face checkpoint folder, as converter and server read it: what it holds, held against its config.json.

Names, shapes and types come from the files' headers; not a tensor is read but an output layer that should be the word
embedding. What is refused here is refused before anything is loaded or written.
"""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from common.errors import UserError
from common.files import read_object
from models.checkpoint.blueprint import Blueprint, blueprint
from models.checkpoint.stored_tensor import StoredTensor
from models.checkpoint.weight_files import find_weight_files
from models.checkpoint.weight_tensors import open_weights
from models.family import Family
from models.registry import family
from models.weight_table import find_spelling

BUFFERS = ("rotary_emb.inv_freq", "embeddings.position_ids")
"""Old checkpoints hold them; models compute them."""
_PRECISIONS = (torch.bfloat16, torch.float16, torch.float32, torch.float64)
_QUANTIZED_FIELDS = ("quantization_config", "compression_config")
_QUANTIZED_FILES = ("hf_quant_config.json", "quantize_config.json", "quant_config.json")
"""What ModelOpt, GPTQ and AWQ write beside a config.json that may not say it."""
_QUANTIZED_PARTS = (
    *("qweight", "qzeros", "g_idx", "scales", "SCB", "weight_format", "absmax", "quant_map", "nested_absmax"),
    *("weight_scale", "weight_scale_inv", "weight_scale_2", "weight_packed", "weight_shape", "weight_zero_point"),
    *("input_scale", "k_scale", "v_scale", "quant_state.bitsandbytes__nf4", "quant_state.bitsandbytes__fp4"),
)
"""What stands beside, or in place of, a layer's weight there."""


@dataclasses.dataclass(frozen=True)
class HfFolder:
    """A checkpoint whose every weight was found: `stored` by the names of its family's weight table."""

    path: Path
    family: Family
    config: Any
    stored: dict[str, StoredTensor]
    are_pickles: bool
    """Not safetensors."""


def read_hf_folder(folder: Path, parse: Callable[[Family, Path], Any] = Family.read_config) -> HfFolder:
    """The checkpoint in `folder`; its `config` is what `parse` makes of config.json.

    Raises:
        UserError: it is another family's, quantized, or holds an adapter; its weights are ambiguous or damaged; one is
            missing, unknown, or of another shape than config.json makes it; or an output layer is not the word
            embedding, which config.json says it is.
    """
    kind = family(folder)
    refuse_quantized(folder)
    _refuse_redirection(folder)
    config = parse(kind, folder)
    plan = _plan(folder, kind, config)
    stored = open_weights(folder)
    names = [name for weight in kind.weight_table(config) for name in weight.hf]
    spelled = {name: spelling for name in names if (spelling := find_spelling(name, kind.spellings, stored))}
    heads = _tied_heads(config, stored)
    unknown = stored.keys() - set(spelled.values()) - heads
    unknown = {name for name in unknown if not name.endswith(BUFFERS)}
    _refuse_quantized_parts(folder, stored, unknown)
    if missing := [name for name in names if name not in spelled]:
        raise UserError(f"{folder}: has no tensor {missing[0]} (and {len(missing) - 1} more are missing)")
    if unknown:
        raise UserError(f"{folder}: has {min(unknown)}, which a {kind.name} of its config.json has not")
    if twice := _named_twice(kind, spelled, stored):
        raise UserError(f"{folder}: has {twice[0]} and {twice[1]}, two names of one weight")
    found = HfFolder(
        folder,
        kind,
        config,
        {name: stored[spelling] for name, spelling in spelled.items()},
        find_weight_files(folder).are_pickles,
    )
    _check_shapes(found, plan)
    for head in sorted(heads):
        if not _same(stored[head], found.stored[names[0]]):
            raise UserError(
                f"{folder}: config.json says tie_word_embeddings, but {head} is not the word embedding; "
                'write "tie_word_embeddings": false'
            )
    return found


def refuse_quantized(folder: Path) -> None:
    """`UserError` where configurations say that the weights were quantized."""
    fields = read_object(folder / "config.json") if (folder / "config.json").exists() else {}
    for part in (fields, *(value for value in fields.values() if isinstance(value, dict))):
        for name in _QUANTIZED_FIELDS:
            if part.get(name) is not None:
                method = part[name].get("quant_method") if isinstance(part[name], dict) else None
                raise _quantized(folder, f"{name} in config.json: {method or 'of no named method'}")
    for name in _QUANTIZED_FILES:
        if (folder / name).exists():
            raise _quantized(folder, f"it has a {name}")


def _refuse_quantized_parts(folder: Path, stored: dict[str, StoredTensor], unknown: set[str]) -> None:
    """By their tensors, where no configuration says it."""
    parts = tuple(f".{part}" for part in _QUANTIZED_PARTS)
    if named := sorted(name for name in unknown if name.endswith(parts)):
        raise _quantized(folder, f"it has {named[0]}")
    for name, tensor in stored.items():
        if tensor.dtype not in _PRECISIONS and not name.endswith(BUFFERS):
            raise _quantized(folder, f"{name} is {str(tensor.dtype).removeprefix('torch.')}")


def _quantized(folder: Path, why: str) -> UserError:
    return UserError(
        f"{folder}: is quantized ({why}); only weights of 16 to 64 bits are read: save it in bf16 with the library "
        "that quantized it, or take the release that it was made of"
    )


def _refuse_redirection(folder: Path) -> None:
    """transformers would load other weights than those of the folder's own files, or add an adapter to them."""
    if (folder / "adapter_config.json").exists():
        raise UserError(
            f"{folder}: holds an adapter (adapter_config.json) besides a model; keep it in a folder of its own and "
            "name that: --adapter_path of hf2mg.sh and mg2hf.sh, --adapters of the server"
        )
    file = read_object(folder / "config.json").get("transformers_weights")
    if file and [path.name for path in find_weight_files(folder).paths] != [file]:
        raise UserError(f"{folder}: config.json says transformers_weights: {file!r}; rename it to model.safetensors")


def _tied_heads(config: Any, stored: dict[str, StoredTensor]) -> set[str]:
    """The output layer where it is the word embedding."""
    return {"lm_head.weight", "language_model.lm_head.weight"} & stored.keys() if config.tie_word_embeddings else set()


def _named_twice(kind: Family, spelled: dict[str, str], stored: dict[str, StoredTensor]) -> tuple[str, str] | None:
    for name, spelling in spelled.items():
        if other := next((one for one in kind.spellings(name) if one in stored and one != spelling), None):
            return spelling, other
    return None


def _plan(folder: Path, kind: Family, config: Any) -> Blueprint:
    """`UserError` where the model has weights, such as biases, that its family's table has not."""
    try:
        plan = blueprint(kind, config)
    except UserError as error:
        raise UserError(f"{folder}: {error}") from None
    if plan.others:
        kind.check(folder / "config.json", config)  # says which field asks for them
        raise UserError(f"{folder}: config.json asks for {min(plan.others)}, which a {kind.name} has not here")
    return plan


def _check_shapes(folder: HfFolder, plan: Blueprint) -> None:
    expected, rows = plan.shapes, folder.config.get_text_config().vocab_size
    for name, tensor in folder.stored.items():
        if tensor.shape == expected[name]:
            continue
        resized = tensor.shape[1:] == expected[name][1:] and expected[name][0] == rows
        advice = f'; if its vocabulary was resized, write "vocab_size": {tensor.shape[0]}' if resized else ""
        raise UserError(
            f"{folder.path}: {name} is {list(tensor.shape)}, but config.json makes it {list(expected[name])}{advice}"
        )


def _same(one: StoredTensor, other: StoredTensor) -> bool:
    return one.shape == other.shape and one.read().equal(other.read())
