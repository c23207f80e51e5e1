"""Started by torchrun: loss, gradients and logits of parallel layouts against Hugging Face's, on the same weights.

    torchrun --standalone --nproc-per-node 4 tests/training/parity_worker.py OUT.json HF_DIR MEGATRON_DIR LAYOUTS ...

with one triple for each policy. LAYOUTS are separated by blanks; each has sizes and switches, `tp2,pp2,sp,packed`:

    tp pp vpp cp first     sizes (first: layers of the first pipeline stage)
    sp do overlap bf16     switches of `Layout`; `selective` and `full` recompute
    packed                 the samples of a micro-batch in one row

and the ranks that are left are data-parallel. Rank 0 writes [{layout: {"loss", "gradient", "norm", "logits"}}], the
largest absolute differences (of the gradient's norm: the relative one), policy by policy. Of a layout in bf16 it is
{tensor: [error, error of one process, size]} (`rounding.py`).
"""

import contextlib
import dataclasses
import functools
import json
import os
import random
import re
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from common.processes import die_with_parent
from training.modules import kernels

die_with_parent()
warnings.simplefilter("ignore")
kernels.prepare(os.environ.get("TE", "auto"))

import torch  # noqa: E402  (Megatron must come after the adaptor)
from megatron.core import dist_checkpointing, parallel_state  # noqa: E402
from megatron.core.optimizer import MegatronOptimizer, OptimizerConfig, get_megatron_optimizer  # noqa: E402
from megatron.core.pipeline_parallel import get_forward_backward_func  # noqa: E402
from transformers import AutoModelForImageTextToText, AutoProcessor  # noqa: E402

from data.checkpoint_folder import find_weights  # noqa: E402
from models.registry import family  # noqa: E402
from models.weight_table import find_spelling  # noqa: E402
from tests.training import tiny  # noqa: E402
from tests.training.rounding import Outcome, measure  # noqa: E402
from training import checkpoint, layout  # noqa: E402
from training.layout import Layout  # noqa: E402
from training.modules import torch_dist  # noqa: E402
from training.modules.batching import IGNORE, Images  # noqa: E402
from training.modules.context_parallel import gathered_order  # noqa: E402
from training.modules.images import encode_share, only_counted  # noqa: E402
from training.parallel import Chunks, build_model, connect, sharded_weights, unwrap  # noqa: E402

BATCH_SIZE, NUM_SAMPLES = 2, 8
SIZES = [(64, 48), (96, 96), (40, 90), (33, 50), (120, 50)]


def parse_layout(text: str) -> Layout:
    words = text.split(",")
    sizes = {match[1]: int(match[2]) for word in words if (match := re.fullmatch(r"([a-z]+)(\d+)", word))}
    return Layout(
        tensor_parallel=sizes.get("tp", 1),
        pipeline_parallel=sizes.get("pp", 1),
        virtual_pipeline=sizes.get("vpp", 1),
        first_stage_layers=sizes.get("first", 0),
        context_parallel=sizes.get("cp", 1),
        sequence_parallel="sp" in words,
        distributed_optimizer="do" in words,
        overlap="overlap" in words,
        recompute=next((word for word in words if word in ("selective", "full")), "none"),
        bf16="bf" in sizes,
    )


class Sample:
    """A text with 0 to 3 images of different sizes, its last third to be learned; ids as Hugging Face makes them."""

    def __init__(self, index: int, processor: Any) -> None:
        rng = random.Random(index)
        num_images = 0 if index % 5 == 4 else 1 + index % 3
        self.images = [
            tiny.open_picture(tiny.picture(rng, *SIZES[(index + number) % len(SIZES)])) for number in range(num_images)
        ]
        self.text = "".join(f"{tiny.text(rng, 5)}<image>\n" for _ in self.images) + tiny.text(rng, 10 + 4 * index)
        self.ids = hf_inputs(processor, [self])["input_ids"][0]
        self.learn = torch.arange(len(self.ids)) > len(self.ids) * 2 // 3


def hf_inputs(processor: Any, samples: list[Sample]) -> dict[str, torch.Tensor]:
    """What Hugging Face's model takes for a micro-batch."""
    images = {"images": [sample.images for sample in samples]} if any(sample.images for sample in samples) else {}
    texts = [sample.text for sample in samples]
    return dict(processor(text=texts, padding=True, padding_side="right", return_tensors="pt", **images))


class Reference:
    """Hugging Face's loss, gradients and logits, of weights that `change` may have changed by name."""

    def __init__(self, folder: Path, change: Callable[[dict[str, torch.Tensor]], None] = lambda weights: None) -> None:
        self.folder, self.family = folder, family(folder)
        self.hf = self.family.read_config(folder)
        options = {"do_image_splitting": False} if self.family.name == "idefics2" else {}
        self.processor = AutoProcessor.from_pretrained(folder, **options)
        self.image_encoder = self.family.image_encoder(self.processor, self.hf)
        self.samples = [Sample(index, self.processor) for index in range(NUM_SAMPLES)]
        model = AutoModelForImageTextToText.from_pretrained(folder, dtype=torch.float32)
        with torch.no_grad():
            change(dict(model.named_parameters()))
        self.exact = Outcome.of(model, self._micro_batches(1))

    @functools.cached_property
    def rounded(self) -> Outcome:
        """The same in bf16."""
        model = AutoModelForImageTextToText.from_pretrained(self.folder, dtype=torch.bfloat16)
        return Outcome.of(model, self._micro_batches(BATCH_SIZE))

    def _micro_batches(self, size: int) -> list[tuple[list[Sample], dict[str, torch.Tensor]]]:
        groups = [self.samples[start : start + size] for start in range(0, NUM_SAMPLES, size)]
        return [(group, hf_inputs(self.processor, group)) for group in groups]


class Batch:
    """Some samples as one micro-batch of this rank."""

    def __init__(self, reference: Reference, samples: list[Sample], spread: Layout, packed: bool) -> None:
        self.samples, multiple = samples, max(8, spread.sequence_multiple)
        lengths = [-(-len(sample.ids) // multiple) * multiple for sample in samples]
        self.segment_lengths = tuple(lengths) if packed else None
        shape = (1, sum(lengths)) if packed else (len(samples), max(lengths))
        self.starts = [(0, sum(lengths[:n])) if packed else (n, 0) for n in range(len(samples))]
        self.tokens = torch.zeros(shape, dtype=torch.long)
        self.labels = torch.full(shape, IGNORE)
        self.weights = torch.zeros(shape)
        for (row, start), sample in zip(self.starts, samples, strict=True):
            end, learn = start + len(sample.ids), sample.learn[1:]
            self.tokens[row, start:end] = sample.ids
            self.labels[row, start : end - 1] = torch.where(learn, sample.ids[1:], IGNORE)
            self.weights[row, start : end - 1] = learn / learn.sum() / len(samples)
        self.images = self._images(reference)
        self.losses = torch.zeros(0)
        """[rows, tokens], on the last pipeline stage after the forward pass."""

    def _images(self, reference: Reference) -> Images:
        pictures = [picture for sample in self.samples for picture in sample.images]
        sizes = [(picture.height, picture.width) for picture in pictures]
        if not parallel_state.is_pipeline_first_stage():
            return only_counted(reference.image_encoder, sizes)
        rank = parallel_state.get_tensor_and_context_parallel_rank()
        size = parallel_state.get_tensor_and_context_parallel_world_size()
        return encode_share(reference.image_encoder, sizes, pictures.__getitem__, rank, size)

    def run(self, model: torch.nn.Module, with_labels: bool = True) -> torch.Tensor:
        device = layout.device()
        labels = self.labels.to(device) if with_labels else None
        images = self.images.to(device)
        return model(self.tokens.to(device), labels=labels, images=images, segment_lengths=self.segment_lengths)


def make_batches(reference: Reference, spread: Layout, packed: bool) -> list[Batch]:
    """This replica's."""
    groups = [reference.samples[start : start + BATCH_SIZE] for start in range(0, NUM_SAMPLES, BATCH_SIZE)]
    rank, size = parallel_state.get_data_parallel_rank(), parallel_state.get_data_parallel_world_size()
    return [Batch(reference, group, spread, packed) for group in groups[rank::size]]


def forward_backward(chunks: Chunks, batches: list[Batch]) -> list[torch.Tensor]:
    """The losses of the micro-batches come back on the last pipeline stage."""

    def loss_of(batch: Batch, losses: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        batch.losses = losses.detach().cpu()
        loss = (losses * batch.weights.to(losses.device)).sum()
        return loss, loss.detach().clone()

    def step(iterator: Any, model: torch.nn.Module) -> tuple[torch.Tensor, Any]:
        batch = next(iterator)
        return batch.run(model), functools.partial(loss_of, batch)

    iterators = [iter(batches) for _ in chunks]
    return get_forward_backward_func()(
        forward_step_func=step,
        data_iterator=iterators if len(chunks) > 1 else iterators[0],
        model=chunks if len(chunks) > 1 else chunks[0],
        num_microbatches=len(batches),
        seq_length=1024,
        micro_batch_size=1,
        forward_only=False,
    )


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


def compare(text: str, megatron_folder: Path, reference: Reference) -> dict[str, Any]:
    spread = parse_layout(text)
    layout.initialize(spread, seed=1)
    chunks = build_model(reference.family, reference.hf, spread)
    optimizer = make_optimizer(chunks, spread)
    checkpoint.load_model(unwrap(chunks), find_weights(megatron_folder)[0])
    optimizer.reload_model_params()
    batches = make_batches(reference, spread, "packed" in text)
    logits: list[tuple[Sample, torch.Tensor]] = []
    if spread.pipeline_parallel == 1:
        logits = list(sample_logits(unwrap(chunks)[0], batches, reference, spread))
    for chunk in chunks:
        chunk.zero_grad_buffer()
    loss = mean_loss(forward_backward(chunks, batches))
    gradients = whole_gradients(chunks, spread, reference)
    optimizer.prepare_grads()
    norm = float(optimizer.get_grad_norm())
    exact = reference.exact
    if spread.bf16:
        shown = [] if parallel_state.get_context_parallel_rank() else logits  # every such rank has them whole
        found = Outcome(gather(reference, token_losses(batches)), gather(reference, shown), gradients)
        errors = measure(found, reference.rounded, exact, norm)
        return leave(text, {name: dataclasses.asdict(error) for name, error in errors.items()})
    result = {"logits": largest_difference(reference, logits)} if logits else {}
    result["loss"] = abs(loss - exact.loss)
    result["gradient"] = max(float((value - exact.gradients[name]).abs().max()) for name, value in gradients.items())
    result["norm"] = abs(norm / exact.norm - 1)
    return leave(text, largest(result))


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


def make_optimizer(chunks: Chunks, spread: Layout) -> MegatronOptimizer:
    """Adam, connected to the model."""
    config = OptimizerConfig(
        optimizer="adam",
        lr=1e-3,
        bf16=spread.bf16,
        params_dtype=torch.bfloat16 if spread.bf16 else torch.float32,
        use_distributed_optimizer=spread.distributed_optimizer,
        overlap_param_gather=spread.overlap and spread.distributed_optimizer,
    )
    optimizer = get_megatron_optimizer(config, chunks)
    connect(optimizer, chunks)
    return optimizer


def mean_loss(losses: list[torch.Tensor]) -> float:
    """Over all replicas, on every rank."""
    mean = torch.stack(losses).mean() if losses else torch.zeros((), device=layout.device())
    if parallel_state.get_tensor_model_parallel_rank():
        mean = torch.zeros_like(mean)
    torch.distributed.all_reduce(mean)
    return float(mean) / parallel_state.get_data_parallel_world_size()


@torch.no_grad()
def sample_logits(
    model: torch.nn.Module, batches: list[Batch], reference: Reference, spread: Layout
) -> Iterator[tuple[Sample, torch.Tensor]]:
    """Of the real tokens of this rank's samples: [tokens, vocabulary]; what pads the vocabulary must be impossible."""
    size = reference.exact.logits[0].size(1)
    for batch in batches:
        logits = whole(batch.run(model, with_labels=False), -1, parallel_state.get_tensor_model_parallel_group())
        logits = whole(logits, 1, parallel_state.get_context_parallel_group())
        lengths = batch.segment_lengths or (batch.tokens.size(1),)
        logits = logits[:, gathered_order(lengths, spread.context_parallel, logits.device)].float().cpu()
        for (row, start), sample in zip(batch.starts, batch.samples, strict=True):
            own = logits[row, start : start + len(sample.ids)]
            assert (own[:, size:] == -torch.inf).all(), "rows that pad the vocabulary have a probability"
            yield sample, own[:, :size]


def largest_difference(reference: Reference, logits: Iterable[tuple[Sample, torch.Tensor]]) -> float:
    pairs = ((own, reference.exact.logits[reference.samples.index(sample)]) for sample, own in logits)
    return max(float((own - expected).abs().max()) for own, expected in pairs)


def token_losses(batches: list[Batch]) -> list[tuple[Sample, torch.Tensor]]:
    """Of the learned tokens of this rank's samples; 0 where another context-parallel rank has them."""
    if not parallel_state.is_pipeline_last_stage():
        return []
    found = []
    for batch in batches:
        for (row, start), sample in zip(batch.starts, batch.samples, strict=True):
            losses = batch.losses[row, start : start + len(sample.ids) - 1]
            found.append((sample, losses[sample.learn[1:]]))
    return found


def gather(reference: Reference, found: list[tuple[Sample, torch.Tensor]]) -> list[torch.Tensor]:
    """What the replicas have found, sample by sample, on every rank; empty where no rank has anything."""
    first = parallel_state.get_tensor_model_parallel_rank() == 0
    own = {reference.samples.index(sample): tensor for sample, tensor in found if first}
    everyone: list[dict[int, torch.Tensor]] = [{} for _ in range(torch.distributed.get_world_size())]
    torch.distributed.all_gather_object(everyone, own)
    parts = [[one[index] for one in everyone if index in one] for index in range(NUM_SAMPLES)]
    return [torch.stack(one).sum(0) for one in parts if one]


def whole(part: torch.Tensor, axis: int, group: torch.distributed.ProcessGroup) -> torch.Tensor:
    parts = [torch.empty_like(part) for _ in range(group.size())]
    torch.distributed.all_gather(parts, part.contiguous(), group=group)
    return torch.cat(parts, dim=axis)


@torch.no_grad()
def whole_gradients(chunks: Chunks, spread: Layout, reference: Reference) -> dict[str, torch.Tensor]:
    """Gradients take the weights' places, are joined as a checkpoint is, and become Hugging Face's by the table."""
    if spread.distributed_optimizer:
        gather_reduced(chunks)
    for model in unwrap(chunks):
        for parameter in model.parameters():
            parameter.data = (
                parameter.main_grad.clone() if parameter.requires_grad else torch.zeros_like(parameter.data)
            )
    everything = whole_weights(chunks)
    gradients = {}
    for weight in reference.family.weight_table(reference.hf):
        tensor = everything[weight.megatron] if weight.layer is None else everything[weight.megatron][weight.layer]
        for name, gradient in zip(weight.hf, weight.split(tensor, reference.hf), strict=True):
            gradients[find_spelling(name, reference.family.spellings, reference.exact.gradients)] = gradient.cpu()
    return gradients


def whole_weights(chunks: Chunks) -> dict[str, torch.Tensor]:
    """What a checkpoint would hold, on every rank."""
    folder = [tempfile.mkdtemp()] if torch.distributed.get_rank() == 0 else [""]
    torch.distributed.broadcast_object_list(folder)
    torch_dist.save({"model": sharded_weights(unwrap(chunks))}, Path(folder[0]))
    everything = {key: value.float() for key, value in dist_checkpointing.load_plain_tensors(folder[0]).items()}
    torch.distributed.barrier()
    shutil.rmtree(folder[0], ignore_errors=True)
    return everything


def gather_reduced(chunks: Chunks) -> None:
    """Each replica holds its own part of the reduced gradients; give all of them to all."""
    group = parallel_state.get_data_parallel_group(with_context_parallel=True)
    for bucket in (bucket for chunk in chunks for buffer in chunk.buffers for bucket in buffer.buckets):
        own = bucket.grad_data.chunk(group.size())[group.rank()].clone()
        torch.distributed.all_gather_into_tensor(bucket.grad_data, own, group=group)


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
                results[-1][text] = compare(text, Path(megatron_folder), reference)
    if os.environ["RANK"] == "0":
        Path(out).write_text(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
