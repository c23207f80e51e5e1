"""What parallel layouts are compared with: Hugging Face's own model on the same samples, one process (imports Megatron:
after the kernels are prepared)."""

import functools
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from models.image_settings import ImageSettings
from models.processor import load_processor
from models.registry import family
from tests import tiny
from tests.training import columns_reference
from tests.training.joined_ranks import joined_gradients, whole_gradients
from tests.training.rounding import Outcome
from training.algorithms.algorithm import Algorithm, BatchColumns, PredictedTokens
from training.batches.collate import TokenizedSample
from training.batches.columns import SampleColumns
from training.config import Config
from training.loop.parallel import Chunks
from training.samples.pictures import read_picture

BATCH_SIZE, NUM_SAMPLES = 2, 8
SIZES = [(64, 48), (96, 96), (40, 90), (33, 50), (120, 50)]


class Sample:
    """A text with 0 to 3 images of different sizes, none where they have no `mark`, its last third to be learned; ids
    as Hugging Face makes them."""

    def __init__(self, index: int, processor: Any, mark: str | None) -> None:
        rng = random.Random(index)
        # with torchvision Hugging Face's idefics2 reads no micro-batch whose first sample is without an image
        num_images = 0 if index % 5 == 3 or mark is None else 1 + index % 3
        encoded = [tiny.picture(rng, *SIZES[(index + number) % len(SIZES)]) for number in range(num_images)]
        self.images = [tiny.open_picture(image) for image in encoded]
        self.pictures = [read_picture(str(index), image) for image in encoded]
        self.text = "".join(f"{tiny.text(rng, 5)}{mark}\n" for _ in self.images) + tiny.text(rng, 10 + 4 * index)
        self.ids = hf_inputs(processor, [self])["input_ids"][0]
        self.loss_mask = torch.arange(len(self.ids)) > len(self.ids) * 2 // 3
        self.index = index
        self.temperature = (0.6, 1.0, 1.7)[index % 3]

    def tokenized(self, columns: SampleColumns, at_drawn: bool) -> TokenizedSample:
        """As the trainer has it; `at_drawn`: with a temperature, as if it had been sampled."""
        temperature = self.temperature if at_drawn else 1.0
        return TokenizedSample(
            str(self.index), self.ids, self.loss_mask, self.pictures, columns, temperature=temperature
        )


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
        unsplit = ImageSettings(do_image_splitting=False) if self.family.name == "idefics2" else None
        self.processor = load_processor(folder, unsplit, say=lambda _: None)
        self.image_encoder = self.family.image_encoder(self.processor, self.hf)
        mark = self.image_encoder.mark if self.family.reads_images else None
        self.samples = [Sample(index, self.processor, mark) for index in range(NUM_SAMPLES)]
        model = self.family.auto_model().from_pretrained(folder, dtype=torch.float32)
        with torch.no_grad():
            change(dict(model.named_parameters()))
        self.exact = Outcome.of(model, self._micro_batches(1))
        self.columns = [columns_reference.made_of(index, -losses) for index, losses in enumerate(self.exact.losses)]
        self.model = model
        self.of_case = functools.cache(self._of_case)

    @functools.cached_property
    def rounded(self) -> Outcome:
        """The same in bf16."""
        model = self.family.auto_model().from_pretrained(self.folder, dtype=torch.bfloat16)
        return Outcome.of(model, self._micro_batches(BATCH_SIZE))

    def _of_case(self, name: str) -> tuple[float, dict[str, torch.Tensor], dict[str, float]]:
        """(loss, gradients by parameter, means of the algorithm's statistics) of a loss that reads columns."""
        self.model.zero_grad()
        case = columns_reference.CASES[name]
        counts = [int(sample.loss_mask[1:].sum()) for sample in self.samples]
        total = sum(case.share(columns, count) for columns, count in zip(self.columns, counts, strict=True))
        loss, of_samples = 0.0, []
        for sample, columns in zip(self.samples, self.columns, strict=True):
            logits = self.model(**hf_inputs(self.processor, [sample])).logits[0, :-1]
            logprobs = (logits / sample.temperature).log_softmax(-1)
            predicted = logprobs.gather(1, sample.ids[1:, None])[sample.loss_mask[1:], 0]
            own = case.loss(predicted, columns) / total
            own.backward()
            loss += float(own)
            of_samples.append(statistics_of(case.algorithm, predicted.detach(), case.columns(columns)))
        means = {name: float(torch.cat([each[name] for each in of_samples]).mean()) for name in of_samples[0]}
        found = {key: torch.zeros(1) if p.grad is None else p.grad for key, p in self.model.named_parameters()}
        return loss, found, means

    def gradients_of(self, chunks: Chunks, config: Config) -> dict[str, torch.Tensor]:
        """Those of a layout's ranks, joined, under Hugging Face's names."""
        return whole_gradients(joined_gradients(chunks, config.layout), self.family, self.hf, self.exact.gradients)

    def _micro_batches(self, size: int) -> list[tuple[list[Sample], dict[str, torch.Tensor]]]:
        groups = [self.samples[start : start + size] for start in range(0, NUM_SAMPLES, size)]
        return [(group, hf_inputs(self.processor, group)) for group in groups]


def statistics_of(algorithm: Algorithm, logprobs: torch.Tensor, columns: SampleColumns) -> dict[str, torch.Tensor]:
    """Of one sample."""
    per_sample = {name: torch.tensor([value]) for name, value in columns.per_sample.items()}
    batch = BatchColumns(torch.tensor([len(logprobs)]), per_sample, columns.per_token)
    return algorithm.statistics(PredictedTokens(logprobs, batch))
