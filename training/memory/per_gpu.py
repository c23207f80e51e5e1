"""What a layout needs on each GPU, by arithmetic: `--dry_run` prints it, without a GPU and without the weights.

Parameters are counted from the Hugging Face model's own shapes. Bytes per parameter are Megatron's: weights, an fp32
gradient buffer, and Adam's fp32 state (with bf16 also the fp32 main weights), which the distributed optimizer cuts over
the data-parallel ranks. Activations: `training/memory/activations.py`. Reducing gradients and the optimizer's step need
room of their own for a moment, when there are no activations. Workspaces of libraries come on top.
"""

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from rich.console import Console

from common.errors import UserError
from common.files import read_object
from common.options.switch import spelled
from common.shown.tables import Table, print_table
from models.family import Family
from models.registry import family, family_of
from models.weight_table import EMBEDDING, LANGUAGE, OUTPUT_LAYER, Weight, find_spelling, padded_vocab_size
from training.config import Config
from training.layout import Layout
from training.memory.activations import activation_bytes
from training.memory.host_memory import Written, checkpoint_bytes
from training.memory.loader_memory import loader_memory
from training.modules.language.form import check_layout

_GIB = 2**30
_SHAPES = Path(__file__).parent / "shapes"


@dataclasses.dataclass(frozen=True)
class Stage:
    """Parameters on one GPU of a pipeline stage, and the bytes they and a step take."""

    parameters: int
    trainable: int
    weights: int
    gradients: int
    optimizer: int
    activations: int
    update: int
    """For a moment at the step's end, after the activations are gone."""

    @property
    def total(self) -> int:
        return self.weights + self.gradients + self.optimizer + max(self.activations, self.update)


@dataclasses.dataclass(frozen=True)
class Count:
    """Parameters of one GPU by part."""

    vision: int = 0
    connector: int = 0
    language: int = 0

    def __add__(self, other: "Count") -> "Count":
        return Count(*(left + right for left, right in zip(vars(self).values(), vars(other).values(), strict=True)))

    @property
    def total(self) -> int:
        return self.vision + self.connector + self.language


def plan(config: Config, hf: Any, num_gpus: int) -> list[Stage]:
    """One entry for each pipeline stage."""
    layout = config.layout
    data_parallel = num_gpus // layout.model_ranks
    return [_stage(config, hf, count, stage, data_parallel) for stage, count in enumerate(count_parameters(hf, layout))]


def checkpoint_copies(config: Config, hf: Any, num_gpus: int) -> list[int]:
    """By host, the bytes of a checkpoint's copy in its memory."""
    written = []
    for count, stage in zip(count_parameters(hf, config.layout), plan(config, hf, num_gpus), strict=True):
        weights = stage.trainable if config.trainable.lora else stage.parameters
        whole = count.vision + count.connector  # on every tensor-parallel rank; the first writes it
        trained = count.vision * config.trainable.vision + count.connector * config.trainable.connector
        other = Written(weights - (trained if config.trainable.lora else whole), stage.trainable - trained)
        written.append([Written(weights, stage.trainable), *[other] * (config.tp - 1)])
    return checkpoint_bytes(config, written, num_gpus)


def count_parameters(hf: Any, layout: Layout) -> list[Count]:
    """Of one GPU of each pipeline stage; tied embeddings that lie on two stages count on both."""
    stages = [Count() for _ in range(layout.pipeline_parallel)]
    last = layout.pipeline_parallel - 1
    text = hf.get_text_config()
    starts = layout.layers_of_stage(text.num_hidden_layers)
    stage_of = [stage for stage, layers in enumerate(starts) for _ in range(layers)]
    kind = family_of(hf)
    for weight, shapes in _shapes(kind, hf):
        size = sum(shape.numel() for shape in shapes)
        if weight.layer is not None:
            is_cut = len(shapes[0]) > 1 or weight.megatron.endswith(".bias")
            share = size // layout.tensor_parallel if is_cut else size
            stage = stage_of[weight.layer] if layout.virtual_pipeline == 1 else _interleaved(weight.layer, hf, layout)
            stages[stage] += Count(language=share)
        elif weight.megatron in (EMBEDDING, OUTPUT_LAYER):
            rows = padded_vocab_size(text.vocab_size, layout.tensor_parallel) // layout.tensor_parallel
            part = Count(language=rows * text.hidden_size)
            tied_copy = hf.tie_word_embeddings and last > 0
            for stage in {0, last} if tied_copy else {0 if weight.megatron == EMBEDDING else last}:
                stages[stage] += part
        elif weight.megatron.startswith(LANGUAGE):
            stages[last] += Count(language=size)  # the final norm
        else:
            connects = weight.megatron.split(".")[0] in kind.connector_names
            stages[0] += Count(connector=size) if connects else Count(vision=size)
    return stages


def _interleaved(layer: int, hf: Any, layout: Layout) -> int:
    """The stage of a layer when chunks of layers are dealt out in turn."""
    per_chunk = hf.get_text_config().num_hidden_layers // (layout.pipeline_parallel * layout.virtual_pipeline)
    return layer // per_chunk % layout.pipeline_parallel


def _shapes(kind: Family, hf: Any) -> Iterator[tuple[Weight, list[torch.Size]]]:
    """Every weight with the shapes of its parts in Hugging Face's model; nothing is allocated."""
    with torch.device("meta"):
        parameters = kind.auto_model().from_config(hf).state_dict()
    for weight in kind.weight_table(hf):
        yield weight, [parameters[find_spelling(name, kind.spellings, parameters) or name].shape for name in weight.hf]


def _stage(config: Config, hf: Any, count: Count, stage: int, data_parallel: int) -> Stage:
    layout, trainable, text = config.layout, config.trainable, hf.get_text_config()
    num_trainable, parameters = count.vision * trainable.vision + count.connector * trainable.connector, count.total
    if trainable.lora:
        layers = layout.layers_of_stage(text.num_hidden_layers)[stage]
        adapters = layers * _lora_parameters(text, layout, trainable.lora.rank)
        num_trainable, parameters = num_trainable + adapters, parameters + adapters
    else:
        num_trainable += count.language * trainable.language
    if stage == layout.pipeline_parallel - 1:
        heads = len(trainable.value_heads) * _value_head_parameters(text.hidden_size, layout.tensor_parallel)
        num_trainable, parameters = num_trainable + heads, parameters + heads
    replicas = data_parallel * layout.context_parallel if layout.distributed_optimizer else 1
    on_each = num_trainable // replicas
    averaged = count.vision * trainable.vision + count.connector * trainable.connector
    return Stage(
        parameters=parameters,
        trainable=num_trainable,
        weights=(2 if layout.bf16 else 4) * parameters,
        gradients=4 * num_trainable,
        optimizer=(12 if layout.bf16 else 8) * on_each,  # main weights when the others are bf16, and two moments
        activations=activation_bytes(config, hf, stage),
        update=_update(config, on_each, averaged, on_gpu=bool(config.num_gpus) or torch.cuda.is_available()),
    )


def _lora_parameters(text: Any, layout: Layout, rank: int) -> int:
    """Of one layer on one GPU: an A and a B for each of q, k, v, o, gate, up, down; half of them are cut by TP."""
    query, keys = text.num_attention_heads * text.head_dim, text.num_key_value_heads * text.head_dim
    hidden, ffn, tp = text.hidden_size, text.intermediate_size, layout.tensor_parallel
    columns = 3 * hidden + (query + 2 * keys) // tp + 2 * hidden + 2 * ffn // tp
    rows = query // tp + hidden + ffn // tp + hidden
    return rank * (columns + rows)


def _value_head_parameters(hidden: int, tensor_parallel: int) -> int:
    """On one GPU: two hidden layers, the first cut by output and the second by input, and one output."""
    return hidden * (2 * hidden + 1) // tensor_parallel + 2 * hidden + 1


def _update(config: Config, on_each: int, whole: int, on_gpu: bool) -> int:
    """The larger of: a copy of the gradients that tensor-parallel ranks average, `whole` parameters'; and a number of
    each of the `on_each` parameters in the optimizer, for PyTorch's Adam on GPUs (the fused ones of TransformerEngine
    and apex need none, neither does the CPU's, which takes one parameter after the other)."""
    return 4 * max(whole if config.tp > 1 else 0, on_each if on_gpu else 0)


def print_plan(config: Config) -> None:
    """Layout, parameters and memory of each pipeline stage's GPUs.

    Raises:
        UserError: there is no config.json to read the model's shapes from, or the layout does not fit it.
    """
    folder = config_folder(config.pretrain_checkpoint_path)
    hf = family(folder).read_config(folder)
    num_gpus = config.num_gpus or config.layout.model_ranks * max(1, config.dp)
    check_layout(hf, config.layout)
    if num_gpus % config.layout.model_ranks:
        raise UserError(f"{num_gpus} GPUs cannot be cut into replicas of {config.layout.model_ranks}")
    data_parallel = num_gpus // config.layout.model_ranks
    stages = plan(config, hf, num_gpus)
    console = Console(width=140)
    switches = f"DO={spelled(config.do)}, SP={spelled(config.sp)}, AC={config.ac}"
    console.print(
        f"{num_gpus} GPUs: TP={config.tp} x PP={config.pp} x CP={config.cp} x DP={data_parallel}, PR={config.pr}, "
        f"{switches}; micro-batch {config.batch_size} x {config.seq_len} tokens, "
        f"{config.global_batch_size // (config.batch_size * data_parallel)} a step on each replica"
    )
    print_table(_table(stages))
    fullest = max(stage.total for stage in stages) / _GIB
    verdict = "fits" if fullest <= config.gpu_memory_gib * 0.95 else "does not fit"
    console.print(
        f"fullest GPU: {fullest:.1f} GiB, {verdict} in {config.gpu_memory_gib:g} GiB (5 % left for libraries)"
    )
    loaders = -(-num_gpus // config.host_num) * loader_memory(config, hf, data_parallel).total
    console.print(_host_line(config, max(checkpoint_copies(config, hf, num_gpus)), loaders))


def _host_line(config: Config, copy: int, loaders: int) -> str:
    """The fullest host's memory, and whether it has it."""
    needed = (copy + loaders) / _GIB
    line = f"fullest host: {copy / _GIB:.1f} GiB for a checkpoint that is being written"
    line = f"{line}, {loaders / _GIB:.1f} GiB for the loader"
    if not config.host_memory_gib:
        return line
    verdict = "fits" if needed <= config.host_memory_gib * 0.9 else "does not fit"
    return f"{line}; {verdict} in {config.host_memory_gib:g} GiB (10 % left for the processes)"


def config_folder(checkpoint: Path) -> Path:
    """Folder of a checkpoint's config.json: in it or, for one iteration, beside it; or a known shape."""
    for folder in (checkpoint, checkpoint.parent, _SHAPES / checkpoint):
        if (folder / "config.json").exists():
            return folder
    raise UserError(f"{checkpoint}: no config.json here; give a model's folder or one of {', '.join(known_shapes())}")


def known_shapes() -> dict[str, str]:
    """The names of released models whose configuration comes with the repository, and their `model_type`."""
    return {path.name: read_object(path / "config.json")["model_type"] for path in sorted(_SHAPES.iterdir())}


def _table(stages: list[Stage]) -> Table:
    table = Table([""], [f"stage {number}" for number in range(len(stages))], title="each GPU")
    rows = {"parameters (M)": [f"{stage.parameters / 1e6:.1f}" for stage in stages]}
    rows["trainable (M)"] = [f"{stage.trainable / 1e6:.1f}" for stage in stages]
    for name in ("weights", "gradients", "optimizer", "activations", "update", "total"):
        label = f"{name} (GiB)"
        rows[label] = [f"{getattr(stage, name) / _GIB:.2f}" for stage in stages]
    for label, values in rows.items():
        table.add(label, *values)
    return table
