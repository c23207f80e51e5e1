"""Started by torchrun: loss, gradients and logits of parallel layouts against Hugging Face's, on the same weights.

    torchrun --standalone --nproc-per-node 4 tests/training/parity_worker.py OUT.json HF_DIR MEGATRON_DIR LAYOUTS ...

with one triple for each policy. LAYOUTS are separated by blanks; each has sizes and switches, `tp2,pp2,sp,packed`:

    tp pp vpp cp first     sizes (first: layers of the first pipeline stage)
    sp do overlap bf16     switches of `Layout`; `selective` and `full` recompute
    packed                 the samples of a micro-batch in one row
    algorithms             also every learning algorithm's loss

and the ranks that are left are data-parallel. Collator, schedule, loss and optimizer are those of training. Rank 0
writes [{layout: {"loss", "gradient", "norm", "logits", "log_ratio loss", "log_ratio gradient"}}], the largest absolute
differences (of the gradient's norm: the relative one), policy by policy; the last two, of the first policy alone, are
of a loss that reads columns of every kind (`own_algorithms/log_ratio.py`), and with `algorithms` there are two for each
of `columns_reference.CASES`. Of a layout in bf16 it is {tensor: [error, error of one process, size]} (`rounding.py`).
"""

import contextlib
import dataclasses
import json
import os
import re
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from common.processes import die_with_parent
from training.modules import kernels

die_with_parent()
warnings.simplefilter("ignore")
kernels.prepare({"true": True, "false": False}.get(os.environ.get("TE", "")))  # None: where it is installed

import torch  # noqa: E402  (Megatron must come after the adaptor)
from megatron.core import parallel_state  # noqa: E402
from megatron.core.optimizer import MegatronOptimizer  # noqa: E402

from data.checkpoint_folder import find_weights  # noqa: E402
from tests.training import columns_reference  # noqa: E402
from tests.training.joined_ranks import whole  # noqa: E402
from tests.training.parity_reference import BATCH_SIZE, NUM_SAMPLES, Reference, Sample  # noqa: E402
from tests.training.rounding import Outcome, measure  # noqa: E402
from training import layout  # noqa: E402
from training.algorithms.algorithm import Algorithm  # noqa: E402
from training.algorithms.sft import Sft  # noqa: E402
from training.batches.collate import MicroBatch  # noqa: E402
from training.batches.columns import SampleColumns  # noqa: E402
from training.checkpoints import checkpoint  # noqa: E402
from training.config import Config  # noqa: E402
from training.loop.metrics import mean_loss  # noqa: E402
from training.loop.objective import Objective  # noqa: E402
from training.loop.optimization import build_optimizer  # noqa: E402
from training.loop.parallel import Chunks, build_model, unwrap  # noqa: E402
from training.loop.step import forward_backward  # noqa: E402
from training.modules.language.context_parallel import gathered_order  # noqa: E402
from training.train import build_collator  # noqa: E402

PLAIN = SampleColumns({"weight": 1.0})


def parse_layout(text: str, folder: Path = Path()) -> Config:
    """The options of a training run that starts from `folder`; two samples are a micro-batch."""
    words = text.split(",")
    sizes = {match[1]: int(match[2]) for word in words if (match := re.fullmatch(r"([a-z]+)(\d+)", word))}

    return Config(
        dataset_path=Path(),
        pretrain_checkpoint_path=folder,
        batch_size=1 if "packed" in words else BATCH_SIZE,
        global_batch_size=NUM_SAMPLES,
        seq_len=1024,
        tp=sizes.get("tp", 1),
        pp=sizes.get("pp", 1),
        vpp=sizes.get("vpp", 1),
        first_stage_layers=sizes.get("first", 0),
        cp=sizes.get("cp", 1),
        sp="sp" in words,
        do="do" in words,
        overlap="overlap" in words,
        packing="packed" in words,
        pad_to_longest=True,
        ac=next((word for word in words if word in ("selective", "full")), "none"),
        pr="bf16" if "bf" in sizes else "fp32",
    )


def make_batches(
    reference: Reference, config: Config, columns: Sequence[SampleColumns], at_drawn: bool = False
) -> list[MicroBatch]:
    """This replica's, by the trainer's collator; which samples share one is the same in all layouts."""
    collator = build_collator(config, reference.image_encoder)
    collator = dataclasses.replace(collator, micro_batch_multiple=1)
    samples = [sample.tokenized(own, at_drawn) for sample, own in zip(reference.samples, columns, strict=True)]
    groups = [samples[start : start + BATCH_SIZE] for start in range(0, NUM_SAMPLES, BATCH_SIZE)]
    own = groups[collator.place.data_rank :: collator.place.data_size]
    return [batch.with_pixels() for group in own for batch in collator.collate(group)]


def places(reference: Reference, batch: MicroBatch) -> Iterator[tuple[Sample, int, int]]:
    """(sample, its row, where it starts there)"""
    start = 0
    for number, key in enumerate(batch.keys):
        yield reference.samples[int(key)], 0 if batch.segment_lengths else number, start
        start += batch.segment_lengths[number] if batch.segment_lengths else 0


def step(
    chunks: Chunks,
    batches: Sequence[MicroBatch],
    algorithm: Algorithm,
    losses: dict[str, torch.Tensor] | None = None,
    statistics: dict[str, float] | None = None,
) -> float:
    """A forward-backward of training; its loss, on every rank. `losses` receives those of each micro-batch [b, s], by
    its first key, `statistics` the algorithm's, on the last pipeline stage."""
    objective = Objective.of_step(algorithm, batches)

    def record(batch: MicroBatch, found: torch.Tensor) -> torch.Tensor:
        if losses is not None:
            losses[batch.keys[0]] = found.detach().cpu()
        return objective(batch, found)

    for chunk in chunks:
        chunk.zero_grad_buffer()
    of_batches = forward_backward(chunks, batches, 1024, record)
    loss = torch.tensor(mean_loss(of_batches), device=layout.device())
    if of_batches and statistics is not None:
        statistics.update(objective.statistics())
    last = parallel_state.get_pipeline_model_parallel_last_rank()
    torch.distributed.broadcast(loss, last, group=parallel_state.get_pipeline_model_parallel_group())
    return float(loss)


@contextlib.contextmanager
def connected(store: str) -> Iterator[None]:
    """The ranks know each other; after many layouts in one group, hundreds of gloo's threads would be left."""
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    if torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    torch.distributed.init_process_group(
        "nccl" if torch.cuda.is_available() else "gloo",
        store=torch.distributed.FileStore(store, size),
        rank=rank,
        world_size=size,
    )
    try:
        yield
    finally:
        torch.distributed.destroy_process_group()


def compare(text: str, megatron_folder: Path, reference: Reference, with_columns: bool) -> dict[str, Any]:
    config = parse_layout(text, megatron_folder)
    layout.initialize(config.layout, seed=1)
    chunks = build_model(reference.family, reference.hf, config.layout)
    for tower in (part for model in unwrap(chunks) if model.pre_process for part in model.vision_modules()):
        assert not any(buffer.is_floating_point() for buffer in tower.buffers())  # a cast to bf16 would round it
    optimizer = build_optimizer(config, chunks)
    checkpoint.load_model(unwrap(chunks), find_weights(megatron_folder)[0])
    optimizer.reload_model_params()
    batches = make_batches(reference, config, [PLAIN] * NUM_SAMPLES)
    logits: list[tuple[Sample, torch.Tensor]] = []
    if config.pp == 1:
        logits = list(sample_logits(unwrap(chunks)[0], batches, reference, config.cp))
    losses: dict[str, torch.Tensor] = {}
    with lengths_of_last_layer(chunks) as lengths:
        loss = step(chunks, batches, Sft(), losses)
    if (
        lengths
        and not {"sp", "full", "selective", "packed"} & set(text.split(","))
        and config.cp == 1
        and not on_te(chunks)
    ):
        assert lengths == [batch.num_read for batch in batches], "the last layer computes what nobody reads"
        assert all(length < batch.tokens.size(1) for length, batch in zip(lengths, batches, strict=True))
    gradients = reference.gradients_of(chunks, config)
    exact = reference.exact
    if config.layout.bf16:
        norm = gradient_norm(optimizer)
        shown = [] if parallel_state.get_context_parallel_rank() else logits  # every such rank has them whole
        own_losses = token_losses(reference, batches, losses)
        found = Outcome(gather(reference, own_losses), gather(reference, shown), gradients)
        errors = measure(found, reference.rounded, exact, norm)
        return leave(text, {name: dataclasses.asdict(error) for name, error in errors.items()})
    result = {"logits": largest_difference(reference, logits)} if logits else {}
    result["loss"] = abs(loss - exact.loss)
    result["gradient"] = apart(gradients, exact.gradients)
    result["norm"] = abs(gradient_norm(optimizer) / exact.norm - 1)
    everything = with_columns and "algorithms" in text.split(",")
    for name in columns_reference.CASES if everything else ["log_ratio"] if with_columns else []:
        optimizer.zero_grad()
        case = columns_reference.CASES[name]
        expected_loss, expected_gradients, expected_statistics = reference.of_case(name)
        columns = [case.columns(columns) for columns in reference.columns]
        statistics: dict[str, float] = {}
        loss = step(
            chunks, make_batches(reference, config, columns, at_drawn=True), case.algorithm, statistics=statistics
        )
        if parallel_state.is_pipeline_last_stage():
            assert statistics.keys() == expected_statistics.keys()
        result[f"{name} statistics"] = max(
            (abs(value - expected_statistics[key]) for key, value in statistics.items()), default=0.0
        )
        result[f"{name} loss"] = abs(loss - expected_loss) / max(1.0, abs(expected_loss))  # some are sums over tokens
        result[f"{name} gradient"] = apart(reference.gradients_of(chunks, config), expected_gradients)
    return leave(text, largest(result))


@contextlib.contextmanager
def lengths_of_last_layer(chunks: Chunks) -> Iterator[list[int]]:
    """Of the rows that enter the last feed-forward inside, micro-batch by micro-batch; on the stage that has it.

    With recomputation they enter twice.
    """
    lengths: list[int] = []
    if not parallel_state.is_pipeline_last_stage():
        yield lengths
        return
    module = unwrap(chunks)[-1].language_model.decoder.layers[-1].mlp
    hook = module.register_forward_pre_hook(lambda _, inputs: lengths.append(inputs[0].size(0)))
    yield lengths
    hook.remove()


def on_te(chunks: Chunks) -> bool:
    """TransformerEngine's attention takes whole rows."""
    return unwrap(chunks)[0].kernels.attention == "te"


def gradient_norm(optimizer: MegatronOptimizer) -> float:
    """As the step's report has it."""
    optimizer.prepare_grads()
    return float(optimizer.get_grad_norm())


def apart(gradients: dict[str, torch.Tensor], expected: dict[str, torch.Tensor]) -> float:
    """The largest difference."""
    return max(float((value - expected[name]).abs().max()) for name, value in gradients.items())


def largest(result: dict[str, float]) -> dict[str, float]:
    """Of all ranks."""
    everyone: list[dict[str, float]] = [{} for _ in range(torch.distributed.get_world_size())]
    torch.distributed.all_gather_object(everyone, result)
    return {key: max(one[key] for one in everyone) for key in result}


def leave(text: str, result: dict[str, Any]) -> dict[str, Any]:
    """The layout's groups; the first rank says what was found."""
    parallel_state.destroy_model_parallel()
    if is_first_rank():
        print(text, json.dumps(result)[:200], flush=True)
    return result


def is_first_rank() -> bool:
    return torch.distributed.get_rank() == 0


@torch.no_grad()
def sample_logits(
    model: torch.nn.Module, batches: Sequence[MicroBatch], reference: Reference, cp: int
) -> Iterator[tuple[Sample, torch.Tensor]]:
    """Of the real tokens of this rank's samples: [tokens, vocabulary]; what pads the vocabulary must be impossible."""
    size = reference.exact.logits[0].size(1)
    for batch in (batch.on(layout.device()) for batch in batches):
        images = batch.images.load().to(layout.device())
        options = {name: getattr(batch, name) for name in ("segment_lengths", "is_feature", "position_ids")}
        logits = model(batch.tokens, images=images, **options)
        logits = whole(logits, -1, parallel_state.get_tensor_model_parallel_group())
        logits = whole(logits, 1, parallel_state.get_context_parallel_group())
        lengths = batch.segment_lengths or (batch.tokens.size(1),)
        logits = logits[:, gathered_order(lengths, cp, logits.device)].float().cpu()
        for sample, row, start in places(reference, batch):
            own = logits[row, start : start + len(sample.ids)]
            assert (own[:, size:] == -torch.inf).all(), "rows that pad the vocabulary have a probability"
            yield sample, own[:, :size]


def largest_difference(reference: Reference, logits: Iterable[tuple[Sample, torch.Tensor]]) -> float:
    pairs = ((own, reference.exact.logits[reference.samples.index(sample)]) for sample, own in logits)
    return max(float((own - expected).abs().max()) for own, expected in pairs)


def token_losses(
    reference: Reference, batches: Sequence[MicroBatch], losses: dict[str, torch.Tensor]
) -> list[tuple[Sample, torch.Tensor]]:
    """Of the learned tokens of this rank's samples; 0 where another context-parallel rank has them."""
    if not parallel_state.is_pipeline_last_stage():
        return []
    found = []
    for batch in batches:
        for sample, row, start in places(reference, batch):
            own = losses[batch.keys[0]][row, start : start + len(sample.ids) - 1]
            found.append((sample, own[sample.loss_mask[1:]]))
    return found


def gather(reference: Reference, found: list[tuple[Sample, torch.Tensor]]) -> list[torch.Tensor]:
    """What the replicas have found, sample by sample, on every rank; empty where no rank has anything."""
    first = parallel_state.get_tensor_model_parallel_rank() == 0
    own = {reference.samples.index(sample): tensor for sample, tensor in found if first}
    everyone: list[dict[int, torch.Tensor]] = [{} for _ in range(torch.distributed.get_world_size())]
    torch.distributed.all_gather_object(everyone, own)
    parts = [[one[index] for one in everyone if index in one] for index in range(NUM_SAMPLES)]
    return [torch.stack(one).sum(0) for one in parts if one]


def main() -> None:
    torch.backends.cudnn.allow_tf32 = False  # Hugging Face's side computes whole fp32
    out, *arguments = sys.argv[1:]
    results = []
    for hf_folder, megatron_folder, layouts in zip(*[iter(arguments)] * 3, strict=True):
        reference = Reference(Path(hf_folder))
        steepest = max(float(gradient.abs().max()) for gradient in reference.exact.gradients.values())
        results.append({"largest gradient": steepest})
        for text in layouts.split():
            with connected(f"{out}.{len(results)}.{text}"):
                results[-1][text] = compare(text, Path(megatron_folder), reference, len(results) == 1)
    if os.environ["RANK"] == "0":
        Path(out).write_text(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
