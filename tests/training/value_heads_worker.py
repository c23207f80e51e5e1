"""Started by torchrun: the critic's loss and gradients in parallel layouts against Hugging Face's model with the same
heads, which reads one whole sample at a time, and its value where the prompt ends.

    torchrun --standalone --nproc-per-node 4 tests/training/value_heads_worker.py OUT.json HF_DIR MEGATRON_DIR LAYOUTS

Layouts are those of `parity_worker.py`. Rank 0 writes {layout: {"loss", "gradient", "of heads", "norm", "initial"}},
the largest absolute differences (of the gradient's norm: the relative one); "initial" of the heads' weights from those
of the first layout. And "largest gradient".
"""

import dataclasses
import functools
import json
import math
import os
import sys
from collections.abc import Callable
from pathlib import Path

from tests.training import parity_worker
from tests.training.joined_ranks import joined_gradients, whole_gradients, whole_weights
from tests.training.parity_reference import NUM_SAMPLES, Reference, Sample, hf_inputs

import torch  # isort: skip  (parity_worker prepares Megatron's kernels first)

from data.checkpoint_folder import find_weights
from models.weight_table import VALUE_HEADS
from training import layout
from training.algorithms.critic import Critic
from training.batches.collate import TokenizedSample
from training.batches.columns import SampleColumns
from training.checkpoints import checkpoint
from training.loop.optimization import build_optimizer
from training.loop.parallel import build_model, unwrap

COLUMNS = [
    SampleColumns({"outcome": float(index % 2), "weight": float((index + 1) % 3)}) for index in range(NUM_SAMPLES)
]
Weights = dict[str, torch.Tensor]


class Expected:
    """Hugging Face's loss and gradients, with heads of the `weights`."""

    def __init__(self, reference: Reference, weights: Weights) -> None:
        self.weights = weights
        heads = {name: value.clone().requires_grad_() for name, value in weights.items()}
        model = reference.model
        model.zero_grad()
        total = sum(columns.per_sample["weight"] for columns in COLUMNS)
        self.loss = 0.0
        for sample, columns in zip(reference.samples, COLUMNS, strict=True):
            inputs = hf_inputs(reference.processor, [sample])
            hidden = model.model(**inputs).last_hidden_state[0, prompt_length(sample) - 1]
            odds = [self._head(heads, f"{VALUE_HEADS}{name}.", hidden) for name in Critic().value_heads]
            values = torch.cat(odds).sigmoid()
            likely = values if columns.per_sample["outcome"] else 1 - values
            loss = -columns.per_sample["weight"] * likely.log().sum() / total
            loss.backward()
            self.loss += float(loss)
        named = dict(model.named_parameters())
        self.gradients = {name: torch.zeros(1) if p.grad is None else p.grad.clone() for name, p in named.items()}
        self.of_heads = {name: value.grad for name, value in heads.items()}
        everything = [*self.gradients.values(), *self.of_heads.values()]
        self.norm = math.sqrt(sum(float(gradient.square().sum()) for gradient in everything))

    def _head(self, heads: Weights, prefix: str, hidden: torch.Tensor) -> torch.Tensor:
        inner = (heads[f"{prefix}in_weight"] @ hidden + heads[f"{prefix}in_bias"]).relu()
        inner = (heads[f"{prefix}mid_weight"] @ inner + heads[f"{prefix}mid_bias"]).relu()
        return heads[f"{prefix}out_weight"] @ inner + heads[f"{prefix}out_bias"]


def prompt_length(sample: Sample) -> int:
    return int(sample.loss_mask.int().argmax())


class Prompts(Reference):
    """A reference whose samples are tokenized as a critic reads them."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        for sample in self.samples:
            sample.tokenized = functools.partial(_read, sample.tokenized, prompt_length(sample))


def _read(
    tokenized: Callable[[SampleColumns, bool], TokenizedSample], length: int, columns: SampleColumns, at_drawn: bool
) -> TokenizedSample:
    whole = tokenized(columns, at_drawn)
    return dataclasses.replace(whole, ids=whole.ids[: length + 1], loss_mask=torch.arange(length + 1) == length)


def compare(text: str, folder: Path, reference: Prompts, known: list[Expected]) -> dict[str, float]:
    """`known`: what the first layout's heads give, once there was one."""
    config = dataclasses.replace(parity_worker.parse_layout(text, folder), algorithm="critic")
    layout.initialize(config.layout, seed=1)
    chunks = build_model(reference.family, reference.hf, config.layout, config.trainable, seed=1)
    optimizer = build_optimizer(config, chunks)
    checkpoint.load_model(unwrap(chunks), find_weights(folder)[0])
    optimizer.reload_model_params()
    heads = {name: value.cpu() for name, value in whole_weights(chunks).items() if name.startswith(VALUE_HEADS)}
    if not known:
        known.append(Expected(reference, heads))
    expected = known[0]
    batches = parity_worker.make_batches(reference, config, COLUMNS)
    loss = parity_worker.step(chunks, batches, Critic())
    joined = joined_gradients(chunks, config.layout)
    gradients = whole_gradients(joined, reference.family, reference.hf, expected.gradients)
    of_heads = {name: value.cpu() for name, value in joined.items() if name.startswith(VALUE_HEADS)}
    result = {
        "loss": abs(loss - expected.loss),
        "gradient": parity_worker.apart(gradients, expected.gradients),
        "of heads": parity_worker.apart(of_heads, expected.of_heads),
        "norm": abs(parity_worker.gradient_norm(optimizer) / expected.norm - 1),
        "initial": parity_worker.apart(heads, expected.weights),
    }
    return parity_worker.leave(text, parity_worker.largest(result))


def main() -> None:
    out, hf_folder, megatron_folder, *layouts = sys.argv[1:]
    reference, known = Prompts(Path(hf_folder)), []
    results = {}
    for text in layouts:
        with parity_worker.connected(f"{out}.{text}"):
            results[text] = compare(text, Path(megatron_folder), reference, known)
    results["largest gradient"] = {
        "model": max(float(gradient.abs().max()) for gradient in known[0].gradients.values()),
        "heads": max(float(gradient.abs().max()) for gradient in known[0].of_heads.values()),
    }
    if os.environ["RANK"] == "0":
        Path(out).write_text(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
