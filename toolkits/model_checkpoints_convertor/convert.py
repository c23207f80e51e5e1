"""Convert a checkpoint between Hugging Face (safetensors), Megatron (`torch_dist`) and OpenWebVoyager's Megatron.

LLaVA's own layout (liuhaotian's folders, PAE's `model.pt`) is read, too.

    python toolkits/model_checkpoints_convertor/convert.py --direction hf2mg --load_path HF_DIR --save_path MEGATRON_DIR
    python toolkits/model_checkpoints_convertor/convert.py --direction mg2hf --load_path MEGATRON_DIR --save_path HF_DIR
    python toolkits/model_checkpoints_convertor/convert.py --direction mg2hf --load_path LLAVA --config_path HF_DIR ...

What `load_path` is, is seen from what lies in it; hf2mg also turns one Megatron format into the other. In one process,
without a GPU, a few tensors in memory at a time. A `torch_dist` checkpoint fits every tensor- and pipeline-parallel
size. An interrupted conversion leaves no `save_path`. With `--inspect` it prints what `load_path` contains; with
`--verify` it compares the logits of both sides.
"""

import dataclasses
import os
from functools import partial
from pathlib import Path
from typing import Any, Literal

import tyro

from common import cli
from common.errors import UserError
from common.garbage import unsearched
from data.adapter_record import read_adapter_record
from data.checkpoint_folder import RELEASE, copy_hf_files, find_weights, read_tracker, unfinished, write_tracker
from data.image_recipe import ImageRecipe

with unsearched():
    import torch

    from models import processor
    from models.checkpoint.adapter_folder import Adapter, check_language_only, read_adapter
    from models.checkpoint.narrowing import Narrowing, OutOfRange
    from models.checkpoint.output_folder import complete_folder
    from models.checkpoint.peft_writer import write_peft_adapter
    from models.checkpoint.precision import record_precision
    from models.image_settings import ImageSettings
    from models.registry import NAMES
    from toolkits.model_checkpoints_convertor.destinations import write_hf, write_torch_dist
    from toolkits.model_checkpoints_convertor.inspect_checkpoint import describe
    from toolkits.model_checkpoints_convertor.legacy_weights import (
        LegacySource,
        find_legacy_weights,
        save_extra_rows,
        write_legacy,
    )
    from toolkits.model_checkpoints_convertor.lora import (
        MergedSource,
        read_megatron_adapter,
        write_megatron_adapter,
    )
    from toolkits.model_checkpoints_convertor.original_llava import OriginalLlavaSource, find_original_llava
    from toolkits.model_checkpoints_convertor.sources import HfSource, OverlaidSource, Source, TorchDistSource
    from toolkits.model_checkpoints_convertor.verify import verify

_DTYPES = {"auto": None, "bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}
_USED_BY = {
    "hf2mg": "a Megatron checkpoint; training takes it as PRETRAIN_CHECKPOINT_PATH",
    "mg2hf": "a Hugging Face checkpoint; serve it with server/hf_online_server.py --model_name_or_path",
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    """Convert a checkpoint. Variables of the scripts, where a flag is not given: SOURCE_CKPT_PATH for --load_path,
    TARGET_CKPT_PATH for --save_path, CONFIG_PATH, dtype; FORMAT=legacy with TP and EXTRA_VOCAB_SIZE."""

    load_path: Path
    """A Hugging Face folder, a Megatron checkpoint folder or one iteration in it, or LLaVA's own layout."""
    save_path: Path | None = None
    """The folder to make; a checkpoint that is there already is replaced."""
    dtype: Literal["auto", "bf16", "fp16", "fp32"] = "auto"
    """Precision of the weights that are written; auto keeps it."""
    out_of_range: OutOfRange = "refuse"
    """What may come of numbers that this precision cannot hold. refuse: none are written; to_zero: those too small
    become zero; any: those too large also infinite. How many did is printed."""
    config_path: Path | None = None
    """Folder of config.json, tokenizer and processor, where load_path has none."""
    format: Literal["torch_dist", "legacy"] = "torch_dist"
    """hf2mg: megatron-core's format, or mp_rank_XX/model_optim_rng.pt as OpenWebVoyager's scripts read it."""
    target_tensor_model_parallel_size: int = 8
    """hf2mg with format legacy: number of ranks to cut for."""
    extra_num_vocabs: int | None = None
    """hf2mg with format legacy: extra rows of the vocabulary; default: up to a multiple of 128 (125 for idefics2)."""
    max_shard_size_gb: float = 5.0
    """mg2hf: size of one safetensors file."""
    adapter_path: Path | None = None
    """A PEFT adapter for the model of load_path."""
    base_path: Path | None = None
    """The base model, Hugging Face's or Megatron's, when load_path holds adapters alone and the base that they were
    trained on (adapter.json) lies elsewhere now."""
    lora: Literal["merged", "apart"] = "merged"
    """Adapters are merged into the weights; or stay apart: beside them in torch_dist, in a PEFT folder from mg2hf."""
    lora_alpha: float | None = None
    """Alpha of a Megatron checkpoint's adapters, where it has no adapter.json, and of those in PAE's model.pt."""
    image_recipe: ImageRecipe = "published"
    """What a released idefics2 is to see: its files say that images are split into 5, and have no elcano.json beside
    them. published: what OpenWebVoyager trained with, `--image_size 980 --do_image_splitting False`; keep: what its
    files say. Other folders are kept."""
    image_size: int | None = None
    """hf2mg: write this longest and shortest edge in pixels into the processor files."""
    do_image_splitting: bool | None = None
    """hf2mg: write this into an idefics2's processor files."""
    verify: bool = False
    """Compare both sides' logits on a prompt with images; nothing is written when they differ."""
    inspect: bool = False
    """Print what load_path contains, and write nothing."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Config(Options):
    """Convert a checkpoint."""

    direction: Literal["hf2mg", "mg2hf"]
    """To Megatron, or to Hugging Face."""
    family: tyro.conf.Suppress[str] = ""
    """The only one that is accepted: that of the folder whose script was called."""


def main(config: Config) -> None:
    """Convert into a temporary folder beside `save_path`, renamed at the end."""
    if config.inspect:
        print(describe(config.load_path))
        return
    if config.save_path is None:
        raise UserError("--save_path is missing: the folder to make")
    if config.save_path.resolve() == config.load_path.resolve():
        raise UserError(f"{config.save_path}: is --load_path, too; choose another --save_path")
    source, adapter = _open(config)
    dtype, narrowing = _DTYPES[config.dtype], Narrowing(config.out_of_range)
    apart = adapter if config.lora == "apart" else None
    merged = MergedSource(source, adapter, dtype, narrowing=narrowing) if adapter and not apart else source
    with complete_folder(config.save_path) as folder:
        if apart and config.direction == "mg2hf":
            _write_peft(config, source, apart, folder, dtype, narrowing)
            narrowing.check(config.load_path)
            return
        copy_hf_files(source.hf_files, folder)
        _write_image_settings(config, folder)
        save_extra_rows(source, folder)
        if config.direction == "mg2hf":
            write_hf(merged, folder, dtype, int(config.max_shard_size_gb * 1e9), narrowing)
        else:
            _write_megatron(config, merged, apart, folder, dtype, narrowing)
        narrowing.check(config.load_path)
        name = source.family.weight_table(source.config)[0].hf[0]
        record_precision(folder, source.family, source.config, dtype or source.meta(name).dtype)
        if config.verify:
            expected, rounded = merged, dtype
            if apart:  # what training computes: base in `dtype`, adapters beside it in fp32
                expected, rounded = MergedSource(source, apart, torch.float32, base_dtype=dtype), None
            print(verify(expected, open_checkpoint(folder), rounded))
    if config.direction == "mg2hf" and (said := _unfinished(config.load_path)):
        print(f"{config.load_path}: {said}")
    print(f"{config.save_path}: {_USED_BY[config.direction]}")


def _unfinished(path: Path) -> str:
    try:
        return unfinished(find_weights(path)[0])
    except UserError:  # of another format
        return ""


def open_checkpoint(path: Path, hf_files: Path | None = None) -> Source:
    """The checkpoint at `path`, of whatever format; `hf_files` where configuration and tokenizer lie elsewhere.

    Raises:
        UserError: there is none, or it is damaged.
    """
    if legacy := find_legacy_weights(path):
        return LegacySource(legacy[0], hf_files or legacy[1])
    if original := find_original_llava(path):
        return OriginalLlavaSource(original, hf_files)
    if (path / "config.json").exists() and read_tracker(path) is None:
        return HfSource(path)
    weights, found = find_weights(path)
    record = read_adapter_record(weights)
    if record is None or record.base is None:
        return TorchDistSource(weights, hf_files or found)
    if not record.base.exists():
        raise UserError(f"{weights}: its adapters' base is not at {record.base} any more; name it with --base_path")
    return OverlaidSource(open_checkpoint(record.base, hf_files or found), weights)


def _open(config: Config) -> tuple[Source, Adapter | None]:
    """The model, and the adapter that it has in `load_path` or is given in `adapter_path`."""
    if config.base_path:
        base = open_checkpoint(config.base_path, config.config_path)
        source: Source = OverlaidSource(base, find_weights(config.load_path)[0])
    else:
        source = open_checkpoint(config.load_path, config.config_path)
    if config.family not in ("", source.family.name):
        raise UserError(
            f"{config.load_path}: this is {source.family.name}, not {config.family}; "
            f"see toolkits/model_checkpoints_convertor/{_script(source.family.name, config.direction)}"
        )
    if config.direction == "mg2hf" and isinstance(source, HfSource):
        raise UserError(f"{config.load_path}: not a Megatron checkpoint, but Hugging Face's; convert it with hf2mg.sh")
    if config.adapter_path:
        adapter = read_adapter(config.adapter_path, source.family, source.config)
        if config.lora == "apart":
            check_language_only(config.adapter_path, adapter, source.family, source.config)
        return source, adapter
    if isinstance(source, OriginalLlavaSource):
        return source, source.adapter(config.lora_alpha)
    if not isinstance(source, (TorchDistSource, OverlaidSource)):
        return source, None
    adapter = read_megatron_adapter(source.weights, source.family, source.config, config.lora_alpha)
    if config.base_path and adapter is None:
        raise UserError(f"{source.weights}: has no adapters; --base_path is for a checkpoint of adapters")
    return source, adapter


def _script(family: str, direction: str) -> str:
    """That of a family which has one of its own, or the one for all."""
    own = f"{family}/{direction}.sh"
    return own if (Path(__file__).parent / own).exists() else f"{direction}.sh"


def _write_image_settings(config: Config, folder: Path) -> None:
    """Make the copied processor files say what the model is trained to see from now on, or was in the published code.

    Checkpoints of ours are marked and say it already, but for older ones, which were trained as published whatever they
    say. The legacy layout is for OpenWebVoyager's trainer, which does not ask the files: no mark.
    """
    asked = ImageSettings(config.image_size, config.do_image_splitting)
    if config.direction == "mg2hf" and asked.flags():
        raise UserError(f"{asked.flags()}: what a trained model sees is kept by mg2hf; give it to hf2mg")
    processor.write_chat_template(folder)
    settings, why = processor.settings_for(folder, config.image_recipe, asked), "as asked"
    if settings != asked:
        why = "as OpenWebVoyager trained; to keep what the release says: --image_recipe keep"
        if config.direction == "hf2mg":
            why += ", and without splitting alone: --image_recipe keep --do_image_splitting False"
    if settings.flags():
        processor.write_image_settings(folder, settings)
        print(f"images: wrote {settings.flags()} into the processor files ({why})")
    if config.format != "legacy":
        processor.mark_as_trained(folder)


def _write_peft(
    config: Config, source: Source, adapter: Adapter, folder: Path, dtype: torch.dtype | None, narrowing: Narrowing
) -> None:
    if isinstance(source, OverlaidSource) and source.trained:
        raise UserError(
            f"{source.weights}: a PEFT folder cannot hold {source.trained[0]}, which was trained, too; "
            "leave --lora apart out"
        )
    base = str(config.base_path or config.load_path)
    write_peft_adapter(adapter, folder, source.family, base, dtype, narrowing)


def _write_megatron(
    config: Config,
    source: Source,
    adapter: Adapter | None,
    folder: Path,
    dtype: torch.dtype | None,
    narrowing: Narrowing,
) -> None:
    weights = folder / RELEASE
    weights.mkdir()
    if config.format == "legacy":
        if adapter:
            raise UserError("--lora apart: the legacy layout has no adapters; merge them")
        ranks, num_extra_rows = config.target_tensor_model_parallel_size, config.extra_num_vocabs
        write_legacy(source, weights, dtype, ranks, num_extra_rows, narrowing)
    elif adapter:
        add = partial(write_megatron_adapter, adapter, family=source.family, config=source.config, folder=weights)
        write_torch_dist(source, weights, dtype, narrowing, finish=add)
    else:
        write_torch_dist(source, weights, dtype, narrowing)
    write_tracker(folder, RELEASE)


if __name__ == "__main__":
    if direction := os.environ.get("CONVERTER_DIRECTION"):  # by hf2mg.sh and mg2hf.sh, whose names say it
        folder = os.environ["CONVERTER_FAMILY"]
        own: dict[str, Any] = {"direction": direction, "family": folder if folder in NAMES else ""}
        cli.run(Options, lambda options: main(Config(**vars(options), **own)), program=f"{direction}.sh")
    cli.run(Config, main)
