"""Started by torchrun: adapters in parallel layouts against Hugging Face with the adapters merged into its weights.

    torchrun --standalone --nproc-per-node 4 tests/training/lora_worker.py OUT.json HF_DIR MEGATRON_DIR LAYOUTS

LAYOUTS as in parity_worker.py. Rank 0 writes {layout: {"adapters", "logits", "loss", "gradient"}}: their number, and
the largest absolute differences. By the chain rule the gradients of W + scale * B A are scale * G A^T for B and
scale * B^T G for A, with G that of the sum.
"""

import dataclasses
import json
import os
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path

from tests.training import parity_worker as parity

# isort: split
# What imports Megatron comes after parity_worker, which installs the CPU adaptor.
import torch
from megatron.core import parallel_state

from data.adapter_record import Lora
from data.checkpoint_folder import find_weights
from models.registry import family
from models.weight_table import find_spelling
from tests.training.joined_ranks import whole_weights
from tests.training.parity_reference import NUM_SAMPLES, Reference
from training import layout
from training.algorithms.sft import Sft
from training.checkpoints import checkpoint
from training.loop.optimization import build_optimizer
from training.loop.parallel import Chunks, build_model, unwrap

LORA = Lora(rank=4, alpha=8.0)
Adapter = tuple[str, torch.Tensor, torch.Tensor]


def randomize(chunks: Chunks) -> None:
    """Draw every B, which starts as zero; ranks that hold the same one draw the same."""
    rank = parallel_state.get_tensor_model_parallel_rank()
    for model in unwrap(chunks):
        for layer in model.language_model.decoder.layers:
            for name, parameter in layer.named_parameters():
                if name.endswith("lora_b"):
                    key = f"{layer.layer_number}.{name}.{rank if parameter.tensor_model_parallel else 0}"
                    generator = torch.Generator().manual_seed(zlib.crc32(key.encode()))
                    parameter.data.copy_(torch.randn(parameter.shape, generator=generator) * 0.1)


def adapters(everything: dict[str, torch.Tensor], folder: Path) -> Iterator[Adapter]:
    """(name of the projection in Hugging Face, A, B)."""
    kind = family(folder)
    hf = kind.read_config(folder)
    for weight in kind.weight_table(hf):
        key = weight.megatron.removesuffix("weight")
        if f"{key}lora_a" not in everything:
            continue
        a, b = (everything[f"{key}lora_{side}"][weight.layer] for side in "ab")
        yield from zip(weight.hf, a.chunk(len(weight.hf)), weight.split(b, hf), strict=True)


def compare(text: str, hf_folder: Path, megatron_folder: Path) -> dict[str, float]:
    config = dataclasses.replace(parity.parse_layout(text), lora_rank=LORA.rank, lora_alpha=LORA.alpha)
    layout.initialize(config.layout, seed=1)
    kind = family(hf_folder)
    chunks = build_model(kind, kind.read_config(hf_folder), config.layout, config.trainable)
    build_optimizer(config, chunks)
    checkpoint.load_model(unwrap(chunks), find_weights(megatron_folder)[0])
    randomize(chunks)
    drawn = list(adapters(whole_weights(chunks), hf_folder))

    def merge(weights: dict[str, torch.Tensor]) -> None:
        for name, a, b in drawn:
            weights[find_spelling(name, kind.spellings, weights)] += LORA.scale * b @ a

    reference = Reference(hf_folder, merge)
    batches = parity.make_batches(reference, config, [parity.PLAIN] * NUM_SAMPLES)
    result: dict[str, float] = {"adapters": len(drawn)}
    if config.pp == 1:
        logits = parity.sample_logits(unwrap(chunks)[0], batches, reference, config.cp)
        result["logits"] = parity.largest_difference(reference, logits)
    loss = parity.step(chunks, batches, Sft())
    for parameter in (parameter for model in unwrap(chunks) for parameter in model.parameters()):
        parameter.data = parameter.main_grad.clone() if parameter.requires_grad else parameter.data
    worst = 0.0
    computed = adapters(whole_weights(chunks), hf_folder)
    for (name, a, b), (_, a_gradient, b_gradient) in zip(drawn, computed, strict=True):
        whole = reference.exact.gradients[find_spelling(name, kind.spellings, reference.exact.gradients)]
        for expected, found in ((LORA.scale * b.T @ whole, a_gradient), (LORA.scale * whole @ a.T, b_gradient)):
            assert expected.abs().max() > 0
            worst = max(worst, float((found - expected).abs().max()))
    result |= {"loss": abs(loss - reference.exact.loss), "gradient": worst}
    return parity.leave(text, parity.largest(result))


def main() -> None:
    out, hf_folder, megatron_folder, layouts = sys.argv[1:]
    results = {}
    for text in layouts.split():
        with parity.connected(f"{out}.{text}"):
            results[text] = compare(text, Path(hf_folder), Path(megatron_folder))
    if os.environ["RANK"] == "0":
        Path(out).write_text(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
