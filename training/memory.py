"""What a layout needs on each GPU, by arithmetic: `--dry_run` prints it, without a GPU and without the weights.

Parameters are counted from the Hugging Face model's own shapes. Bytes per parameter are Megatron's: weights, an fp32
gradient buffer, and Adam's fp32 state (with bf16 also the fp32 main weights), which the distributed optimizer cuts over
the data-parallel ranks. Activations are an estimate after Korthikanti et al. 2022 (arXiv 2205.05198), with fused
attention and gated feed-forward layers; workspaces of libraries come on top.
"""

import dataclasses
import re
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from data.errors import UserError
from training.config import Config
from training.layout import Layout
from training.models.language import check_layout
from training.models.registry import family
from training.models.weight_table import padded_vocab_size

_GIB = 2**30
_TEXT = re.compile(r"(^|\.)(text_model|language_model)\.")
_LAYER = re.compile(r"(text_model|language_model)\.(?:model\.)?layers\.(\d+)\.")
_CONNECTOR = re.compile(r"connector|projector|image_newline")


@dataclasses.dataclass(frozen=True)
class Stage:
    """Parameters on one GPU of a pipeline stage, and the bytes they and a step take."""

    parameters: int
    trainable: int
    weights: int
    gradients: int
    optimizer: int
    activations: int

    @property
    def total(self) -> int:
        return self.weights + self.gradients + self.optimizer + self.activations


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


def count_parameters(hf: Any, layout: Layout) -> list[Count]:
    """Of one GPU of each pipeline stage; tied embeddings that lie on two stages count on both."""
    stages = [Count() for _ in range(layout.pipeline_parallel)]
    last = layout.pipeline_parallel - 1
    starts = layout.layers_of_stage(hf.text_config.num_hidden_layers)
    stage_of = [stage for stage, layers in enumerate(starts) for _ in range(layers)]
    for name, shape in _shapes(hf).items():
        size = shape.numel()
        if layer := _LAYER.search(name):
            share = size // layout.tensor_parallel if len(shape) > 1 else size
            stage = stage_of[int(layer[2])] if layout.virtual_pipeline == 1 else _interleaved(int(layer[2]), hf, layout)
            stages[stage] += Count(language=share)
        elif "embed_tokens" in name or name.startswith("lm_head") or name.endswith(".lm_head.weight"):
            rows = padded_vocab_size(hf.text_config.vocab_size, layout.tensor_parallel) // layout.tensor_parallel
            part = Count(language=rows * hf.text_config.hidden_size)
            tied_copy = hf.tie_word_embeddings and last > 0
            for stage in {0, last} if tied_copy else {0 if "embed_tokens" in name else last}:
                stages[stage] += part
        elif _TEXT.search(name):
            stages[last] += Count(language=size)  # the final norm
        else:
            stages[0] += Count(connector=size) if _CONNECTOR.search(name) else Count(vision=size)
    return stages


def _interleaved(layer: int, hf: Any, layout: Layout) -> int:
    """The stage of a layer when chunks of layers are dealt out in turn."""
    per_chunk = hf.text_config.num_hidden_layers // (layout.pipeline_parallel * layout.virtual_pipeline)
    return layer // per_chunk % layout.pipeline_parallel


def _shapes(hf: Any) -> dict[str, Any]:
    """Every parameter's shape, by Hugging Face's name; nothing is allocated."""
    import torch
    from transformers import AutoModelForImageTextToText

    with torch.device("meta"):
        model = AutoModelForImageTextToText.from_config(hf)
    return {name: parameter.shape for name, parameter in model.named_parameters()}


def _stage(config: Config, hf: Any, count: Count, stage: int, data_parallel: int) -> Stage:
    layout, trainable = config.layout, config.trainable
    learnt, parameters = count.vision * trainable.vision + count.connector * trainable.connector, count.total
    if trainable.lora:
        layers = layout.layers_of_stage(hf.text_config.num_hidden_layers)[stage]
        adapters = layers * _lora_parameters(hf.text_config, layout, trainable.lora.rank)
        learnt, parameters = learnt + adapters, parameters + adapters
    else:
        learnt += count.language * trainable.language
    state = (12 if layout.bf16 else 8) * learnt  # main weights when they are not fp32 themselves, and two moments
    replicas = data_parallel * layout.context_parallel
    return Stage(
        parameters=parameters,
        trainable=learnt,
        weights=(2 if layout.bf16 else 4) * parameters,
        gradients=4 * learnt,
        optimizer=state // replicas if layout.distributed_optimizer else state,
        activations=_activations(config, hf, stage),
    )


def _lora_parameters(text: Any, layout: Layout, rank: int) -> int:
    """Of one layer on one GPU: an A and a B for each of q, k, v, o, gate, up, down; half of them are cut by TP."""
    query, keys = text.num_attention_heads * text.head_dim, text.num_key_value_heads * text.head_dim
    hidden, ffn, tp = text.hidden_size, text.intermediate_size, layout.tensor_parallel
    columns = 3 * hidden + (query + 2 * keys) // tp + 2 * hidden + 2 * ffn // tp
    rows = query // tp + hidden + ffn // tp + hidden
    return rank * (columns + rows)


def _activations(config: Config, hf: Any, stage: int) -> int:
    """Bytes kept for the backward passes of the micro-batches that are in flight at once."""
    layout, text = config.layout, hf.text_config
    bytes_each = 2 if layout.bf16 else 4
    tokens = config.batch_size * config.seq_len // layout.context_parallel
    layers = layout.layers_of_stage(text.num_hidden_layers)[stage]
    in_flight = layout.pipeline_parallel - stage
    hidden = text.hidden_size // (layout.tensor_parallel if layout.sequence_parallel else 1)
    whole = 4 * hidden + _within_tensor_parallel(text, layout)
    kept = {
        "none": whole,
        "selective": whole - 3 * text.intermediate_size // layout.tensor_parallel,
        "full": hidden,
    }[layout.recompute]
    once = whole if layout.recompute == "full" else 0  # the layer that is being recomputed
    total = tokens * bytes_each * (layers * kept * in_flight + once)
    return total + (_vision_activations(config, hf) * bytes_each * in_flight if stage == 0 else 0)


def _within_tensor_parallel(text: Any, layout: Layout) -> int:
    """Numbers kept per token and layer of what is cut over the tensor-parallel ranks: queries, keys and values before
    and after rotation, attention's output, the feed-forward layer's two inputs and their product."""
    heads = (3 * text.num_attention_heads + 3 * text.num_key_value_heads) * text.head_dim
    return (heads + 3 * text.intermediate_size) // layout.tensor_parallel


def _vision_activations(config: Config, hf: Any) -> int:
    """Numbers kept for the images that one GPU of the first stage encodes of a micro-batch."""
    if not config.trainable.vision:
        return 0
    vision, layout = hf.vision_config, config.layout
    most = max((height * width for height, width in getattr(hf, "image_grid_pinpoints", ())), default=0)
    units = config.batch_size * config.image_num * (1 + most // vision.image_size**2)  # images, or tiles of them
    share = -(-units // (layout.tensor_parallel * layout.context_parallel))
    patches = share * (vision.image_size // vision.patch_size) ** 2
    whole = 8 * vision.hidden_size + 2 * vision.intermediate_size
    if layout.recompute == "full":
        return patches * (vision.num_hidden_layers * vision.hidden_size + whole)
    return patches * vision.num_hidden_layers * whole


def print_plan(config: Config) -> None:
    """Layout, parameters and memory of each pipeline stage's GPUs.

    Raises:
        UserError: there is no config.json to read the model's shapes from, or the layout does not fit it.
    """
    folder = config_folder(config.pretrain_checkpoint_path)
    hf = family(folder).read_config(folder)
    num_gpus = config.num_gpus or config.layout.model_ranks * config.dp
    check_layout(hf, config.layout)
    if num_gpus % config.layout.model_ranks:
        raise UserError(f"{num_gpus} GPUs cannot be cut into replicas of {config.layout.model_ranks}")
    data_parallel = num_gpus // config.layout.model_ranks
    stages = plan(config, hf, num_gpus)
    console = Console(width=140)
    console.print(
        f"{num_gpus} GPUs: TP={config.tp} x PP={config.pp} x CP={config.cp} x DP={data_parallel}, PR={config.pr}, "
        f"DO={config.do}, SP={config.sp}, AC={config.ac}; micro-batch {config.batch_size} x {config.seq_len} tokens, "
        f"{config.global_batch_size // (config.batch_size * data_parallel)} a step on each replica"
    )
    console.print(_table(stages))
    fullest = max(stage.total for stage in stages) / _GIB
    verdict = "fits" if fullest <= config.gpu_memory_gib * 0.95 else "does not fit"
    console.print(
        f"fullest GPU: {fullest:.1f} GiB, {verdict} in {config.gpu_memory_gib:g} GiB (5 % left for libraries)"
    )


def config_folder(checkpoint: Path) -> Path:
    """Folder of a checkpoint's config.json: in it or, for one iteration, beside it; or a known shape."""
    shapes = Path(__file__).parent / "shapes"
    for folder in (checkpoint, checkpoint.parent, shapes / checkpoint):
        if (folder / "config.json").exists():
            return folder
    known = ", ".join(sorted(path.name for path in shapes.iterdir()))
    raise UserError(f"{checkpoint}: no config.json here; give a model's folder or one of {known}")


def _table(stages: list[Stage]) -> Table:
    table = Table(title="each GPU")
    table.add_column("")
    rows = {"parameters (M)": [f"{stage.parameters / 1e6:.1f}" for stage in stages]}
    rows["trainable (M)"] = [f"{stage.trainable / 1e6:.1f}" for stage in stages]
    for name in ("weights", "gradients", "optimizer", "activations", "total"):
        label = f"{name} (GiB{', estimate' if name == 'activations' else ''})"
        rows[label] = [f"{getattr(stage, name) / _GIB:.2f}" for stage in stages]
    for number in range(len(stages)):
        table.add_column(f"stage {number}", justify="right")
    for label, values in rows.items():
        table.add_row(label, *values)
    return table
