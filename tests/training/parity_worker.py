"""Started by torchrun: loss, gradients and logits of parallel layouts against Hugging Face's, on the same weights.

    torchrun --standalone --nproc-per-node 4 tests/training/parity_worker.py OUT.json HF_DIR MEGATRON_DIR LAYOUTS ...

with one triple for each policy. LAYOUTS are separated by blanks; each has a tensor-parallel size, a pipeline-parallel
size and switches, `tp2,pp2,sp,do,ac,bf16`; the ranks that are left are data-parallel. Rank 0 writes
[{layout: {"loss", "gradient", "logits"}}], the largest absolute differences, policy by policy.
"""

import json
import shutil
import sys
import tempfile
import warnings
from pathlib import Path

from data.processes import die_with_parent
from training.models import cpu_adaptor

die_with_parent()
warnings.simplefilter("ignore")
cpu_adaptor.install()

import torch  # noqa: E402  (Megatron must come after the adaptor)
from megatron.core import dist_checkpointing, parallel_state  # noqa: E402
from torch.nn import functional  # noqa: E402
from transformers import AutoProcessor, Idefics2ForConditionalGeneration  # noqa: E402

from data.shard import Sample  # noqa: E402
from tests.training import tiny  # noqa: E402
from training import checkpoint, layout  # noqa: E402
from training.config import Config  # noqa: E402
from training.dataset import EncodedSample, MicroBatch, MicroBatchEncoder, Place  # noqa: E402
from training.encoding import ConversationEncoder  # noqa: E402
from training.metrics import StepMetrics  # noqa: E402
from training.models import torch_dist  # noqa: E402
from training.models.checkpoint_folder import find_weights  # noqa: E402
from training.models.idefics2.config import read_config  # noqa: E402
from training.models.idefics2.weights import weight_table  # noqa: E402
from training.train import build_model, build_optimizer, forward_backward, unwrap  # noqa: E402

BATCH_SIZE, NUM_SAMPLES = 2, 8


def parse_layout(text: str) -> dict[str, object]:
    words = text.split(",")
    sizes = {word[:2]: int(word[2:]) for word in words if word[:2] in ("tp", "pp")}
    return {
        "tp": sizes.get("tp", 1),
        "pp": sizes.get("pp", 1),
        "sp": "true" if "sp" in words else "false",
        "do": "true" if "do" in words else "false",
        "ac": "full" if "ac" in words else "none",
        "pr": "bf16" if "bf16" in words else "fp32",
    }


def samples() -> list[Sample]:
    """Of 1 to 3 images of different sizes; every fifth has none."""
    return [tiny.sample(i, num_steps=1 + i % 3, num_words=20, with_images=i % 5 != 4) for i in range(NUM_SAMPLES)]


class Reference:
    """Hugging Face's loss, gradients and logits."""

    def __init__(self, folder: Path) -> None:
        self.processor = AutoProcessor.from_pretrained(folder)
        self.encoder = ConversationEncoder(self.processor, 4096, 3, "answer")
        model = Idefics2ForConditionalGeneration.from_pretrained(folder, dtype=torch.float32)
        self.logits = []
        self.loss = 0.0
        for sample in samples():
            tokens = self.encoder.encode(sample.id, sample.conversations, len(sample.images))
            inputs = {"input_ids": tokens.ids[None]}
            if sample.images:
                images = [tiny.open_picture(image) for image in sample.images]
                inputs |= dict(self.processor.image_processor(images=[images], return_tensors="pt"))
            logits = model(**inputs).logits[0]
            learn = tokens.learn[1:]
            loss = functional.cross_entropy(logits[:-1][learn], tokens.ids[1:][learn]) / NUM_SAMPLES
            loss.backward()
            self.loss += loss.item()
            self.logits.append(logits.detach())
        self.gradients = {name: parameter.grad for name, parameter in model.named_parameters()}


def micro_batches(reference: Reference, config: Config, patch_size: int) -> list[MicroBatch]:
    """This rank's, through the encoder that training uses."""
    place = Place(
        data_rank=parallel_state.get_data_parallel_rank(),
        data_size=parallel_state.get_data_parallel_world_size(),
        tensor_rank=parallel_state.get_tensor_model_parallel_rank(),
        tensor_size=parallel_state.get_tensor_model_parallel_world_size(),
        encodes_images=parallel_state.is_pipeline_first_stage(),
    )
    encoder = MicroBatchEncoder(reference.encoder, place, patch_size, BATCH_SIZE, pad_multiple=8, pad_length=None)
    encoded = []
    for sample in samples():
        tokens = reference.encoder.encode(sample.id, sample.conversations, len(sample.images))
        encoded.append(
            EncodedSample(
                __key__=sample.key, __restore_key__=(), ids=tokens.ids, learn=tokens.learn, images=sample.images
            )
        )
    groups = [encoded[start : start + BATCH_SIZE] for start in range(0, NUM_SAMPLES, BATCH_SIZE)]
    return [encoder.pack_selected_samples(group) for group in groups[place.data_rank :: place.data_size]]


def compare(text: str, hf_folder: Path, megatron_folder: Path, reference: Reference) -> dict[str, float]:
    config = Config(
        dataset_path=Path(),
        pretrain_checkpoint_path=megatron_folder,
        batch_size=BATCH_SIZE,
        global_batch_size=NUM_SAMPLES,
        **parse_layout(text),
    )
    layout.initialize(config.layout, seed=1)
    hf = read_config(hf_folder)
    model = build_model(hf, config.layout)
    build_optimizer(config, model)
    checkpoint.load_model(unwrap(model), find_weights(megatron_folder)[0])
    batches = micro_batches(reference, config, hf.vision_config.patch_size)
    result = {}
    if config.pp == 1:
        result["logits"] = compare_logits(unwrap(model), batches, reference)
    model.zero_grad_buffer()
    losses = forward_backward(config, model, iter(batches))
    if config.do == "false":
        result["gradient"] = compare_gradients(unwrap(model), hf, reference)
    if parallel_state.is_pipeline_last_stage():
        result["loss"] = abs(StepMetrics.reduce(losses, 0.0, 0.0).loss - reference.loss)
    everyone: list[dict[str, float]] = [{} for _ in range(torch.distributed.get_world_size())]
    torch.distributed.all_gather_object(everyone, result)
    parallel_state.destroy_model_parallel()
    return {key: max(one[key] for one in everyone if key in one) for key in {key for one in everyone for key in one}}


@torch.no_grad()
def compare_logits(model: torch.nn.Module, batches: list[MicroBatch], reference: Reference) -> float:
    """Over the real tokens of this rank's samples."""
    rank, size = parallel_state.get_data_parallel_rank(), parallel_state.get_data_parallel_world_size()
    group = parallel_state.get_tensor_model_parallel_group()
    worst = 0.0
    for number, batch in enumerate(batches):
        part = model(batch.tokens, None, batch.pixel_values, batch.patch_mask, batch.num_images)
        parts = [torch.empty_like(part) for _ in range(group.size())]
        torch.distributed.all_gather(parts, part.contiguous(), group=group)
        logits = torch.cat(parts, dim=-1)
        for row in range(BATCH_SIZE):
            expected = reference.logits[(number * size + rank) * BATCH_SIZE + row]
            actual = logits[row, : len(expected)]
            assert (actual[:, expected.size(1) :] == -torch.inf).all(), (
                "rows that pad the vocabulary have a probability"
            )
            worst = max(worst, float((actual[:, : expected.size(1)] - expected).abs().max()))
    return worst


@torch.no_grad()
def compare_gradients(model: torch.nn.Module, hf: object, reference: Reference) -> float:
    """Gradients take the weights' places, are joined as a checkpoint is, and become Hugging Face's by the table."""
    for parameter in model.parameters():
        parameter.data = parameter.main_grad.clone().to(parameter.dtype)
    folder = [tempfile.mkdtemp()] if torch.distributed.get_rank() == 0 else [""]
    torch.distributed.broadcast_object_list(folder)
    weights = checkpoint.sharded_weights(model)
    torch_dist.save({"model": weights}, Path(folder[0]))
    everything = {key: value.float() for key, value in dist_checkpointing.load_plain_tensors(folder[0]).items()}
    torch.distributed.barrier()
    shutil.rmtree(folder[0], ignore_errors=True)
    worst = 0.0
    for weight in weight_table(hf):
        tensor = everything[weight.megatron] if weight.layer is None else everything[weight.megatron][weight.layer]
        for name, gradient in zip(weight.hf, weight.split(tensor, hf), strict=True):
            worst = max(worst, float((gradient - reference.gradients[name]).abs().max()))
    return worst


def main() -> None:
    out, *arguments = sys.argv[1:]
    torch.distributed.init_process_group("gloo")
    results = []
    for hf_folder, megatron_folder, layouts in zip(*[iter(arguments)] * 3, strict=True):
        reference = Reference(Path(hf_folder))
        largest = max(float(gradient.abs().max()) for gradient in reference.gradients.values())
        compared = {text: compare(text, Path(hf_folder), Path(megatron_folder), reference) for text in layouts.split()}
        results.append({"largest gradient": largest, **compared})
    if torch.distributed.get_rank() == 0:
        Path(out).write_text(json.dumps(results, indent=2))
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
