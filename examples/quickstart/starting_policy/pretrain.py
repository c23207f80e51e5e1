"""Make the starting policy of the quickstart, on two cores:

    OMP_NUM_THREADS=1 torchrun --nproc-per-node 2 examples/quickstart/starting_policy/pretrain.py

Trains the wired model on synthetic page-reading text for `--minutes` of wall time and writes a Hugging Face folder with
bfloat16 weights (about 5 MB), the tokenizer, processor and chat template. It stands where idefics2-8b stands for a user
with GPUs. Nothing of the embedded websites is seen here.
"""

import dataclasses
import itertools
import json
import math
import random
import time
from collections.abc import Iterator
from pathlib import Path

import policy
import torch
import torch.distributed as dist
from corpus import make_example
from corpus.example import Example
from corpus.words import ENGLISH
from PIL import Image
from seeing import Naming, learn_to_see, make_pixels, start_vision
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from transformers import PretrainedConfig, PreTrainedModel, ProcessorMixin
from wiring import Wiring

from common import cli
from models.processor import load_processor
from models.registry import family, family_of
from models.tokens.encoding import ConversationEncoder

VOCAB_SIZE = 2048
REPORT_MINUTES = 3
PICTURES_PER_STEP = 4  # to be named
SAMPLES_AT_ONCE = 96  # drawn, sorted by length and cut into batches
_HAS_BF16 = torch.ops.mkldnn._is_mkldnn_bf16_supported()  # else fp32 is faster
Sample = tuple[Tensor, Tensor, Image.Image]  # token ids, labels, screenshot


@dataclasses.dataclass(frozen=True)
class Config:
    """Flags of the recipe; the shipped weights were made in eight legs (`weights/pretraining.json`)."""

    output_dir: Path = Path(__file__).parent / "weights"
    """Where the Hugging Face folder is written."""
    minutes: float = 25.0
    """Wall time of training; the learning rate decays over it."""
    max_elements: int = 40
    """Most tree lines of a page, reached after a fifth of the time."""
    tokens_per_step: int = 4096
    """Padded tokens per process and optimizer step."""
    learning_rate: float = 2e-3
    """Peak learning rate (AdamW, linear decay)."""
    seed: int = 0
    """Seed of weights and pages."""
    seeing_minutes: float = 12.0
    """Time in which the vision side learns to name what it sees, before the rest; not with `--init_from`."""
    share_of_tables: float = 0.0
    """Of the facts on a page those in tables, as bug trackers have them; the shipped weights have seen none."""
    share_of_titles: float = 0.0
    """Of the names those of many words, between numbers and states, as trackers have them; as above."""
    init_from: Path | None = None
    """Continue from this folder's weights and tokenizer, an Idefics2's or a Qwen3-VL's (`transplant.py`), instead of
    the wired initialisation."""


class Batches:
    """Encodes examples as the trainer does and groups them by length; answers only are learned."""

    def __init__(self, processor: ProcessorMixin, config: PretrainedConfig, seed: int, **shares: float):
        self.shares = shares
        self.processor, self.images = processor, family_of(config).image_encoder(processor, config)
        longest = config.get_text_config().max_position_embeddings
        self.encoder = ConversationEncoder(processor, self.images, longest, image_num=1, loss="all_answers")
        self.rng, self.pending = random.Random(seed), list[list[Sample]]()

    def encode(self, example: Example) -> Sample:
        """(token ids, labels, screenshot) as the chat template has them; labels are -100 outside learned answers."""
        roles = itertools.cycle(("human", "gpt"))
        turns = [{"from": role, "value": text} for role, text in zip(roles, example.turns, strict=False)]
        tokens = self.encoder.encode("page", turns, [_size(example.screenshot)])
        begins = tokens.loss_mask & ~tokens.loss_mask.roll(1)  # of replies, which begin in every second turn
        learned = tokens.loss_mask & (begins.cumsum(0) > example.first_target // 2)
        return tokens.ids, tokens.ids.where(learned, -100), example.screenshot

    def draw(self, max_elements: int, max_links: int, num_tokens: int) -> dict[str, Tensor | None]:
        """A right-padded batch of about `num_tokens` tokens, of samples of similar length."""
        if not self.pending:
            made = (make_example(self.rng, max_elements, max_links, **self.shares) for _ in range(SAMPLES_AT_ONCE))
            encoded = sorted((self.encode(example) for example in made), key=lambda sample: len(sample[0]))
            self.pending = [[]]
            for sample in encoded:
                if self.pending[-1] and len(sample[0]) * (len(self.pending[-1]) + 1) > num_tokens:
                    self.pending.append([])
                self.pending[-1].append(sample)
            self.rng.shuffle(self.pending)
        return self.collate(self.pending.pop())

    def collate(self, samples: list[Sample]) -> dict[str, Tensor | None]:
        """Padding stands behind the text, where causal attention never looks: no mask is needed."""
        ids, labels, pictures = zip(*samples, strict=True)
        positions = [self.images.position_ids(row, [_size(picture)]) for row, _, picture in samples]
        rows = [position.T for position in positions if position is not None]  # none: the model counts by itself
        return dict(
            input_ids=pad_sequence(ids, True, self.processor.tokenizer.pad_token_id),
            labels=pad_sequence(labels, True, -100),
            position_ids=pad_sequence(rows, True).permute(2, 0, 1) if rows else None,
            **make_pixels(self.processor, pictures),
        )


def _size(picture: Image.Image) -> tuple[int, int]:
    return picture.height, picture.width


def load(folder: Path) -> tuple[PreTrainedModel, ProcessorMixin]:
    """A policy of any family that is supported, in fp32, and its processor."""
    return family(folder).auto_model().from_pretrained(folder, dtype=torch.float32), load_processor(folder)


def answer_loss_of(model: PreTrainedModel, batch: dict[str, Tensor | None]) -> Tensor:
    """Mean cross-entropy over answer tokens; logits are made for those positions only."""
    labels = batch["labels"][:, 1:]
    learned = labels != -100
    inputs = {name: value for name, value in batch.items() if name != "labels"}
    hidden = model.model(**inputs, use_cache=False).last_hidden_state[:, :-1]
    return torch.nn.functional.cross_entropy(model.lm_head(hidden[learned]).float(), labels[learned])


@torch.no_grad()
def exact_match(
    model: PreTrainedModel, batches: Batches, max_elements: int, num_examples: int, drawn: bool = False
) -> float:
    """Share of answers whose every token is the most likely one (equals greedy decoding being exactly right), on pages
    without or with something `drawn` on them."""
    model.eval()
    right, held_out = 0, random.Random(999)
    for _ in range(num_examples):
        example = make_example(held_out, max_elements, 6, 0, share_drawn=float(drawn), **batches.shares)
        batch = batches.collate([batches.encode(example)])
        expected = batch.pop("labels")[0, 1:]
        predicted = model(**batch).logits[0, :-1].argmax(-1)
        right += bool((predicted == expected)[expected != -100].all())
    model.train()
    return right / num_examples


def make_optimizers(model: PreTrainedModel, learning_rate: float) -> list[torch.optim.Optimizer]:
    """Muon (Jordan et al., 2024) for the matrices of the layers, AdamW for embeddings, norms and the rest."""
    matrices = [weight for name, weight in model.named_parameters() if weight.dim() == 2 and "embed" not in name]
    chosen = {id(weight) for weight in matrices}
    rest = [weight for weight in model.parameters() if id(weight) not in chosen]
    return [
        torch.optim.Muon(matrices, lr=learning_rate, weight_decay=0.0, adjust_lr_fn="match_rms_adamw"),
        torch.optim.AdamW(rest, lr=learning_rate, betas=(0.9, 0.95), weight_decay=0.0),
    ]


def average_gradients(model: PreTrainedModel) -> None:
    """Over the processes, each of which has drawn pages of its own."""
    gradients = [weight.grad for weight in model.parameters() if weight.grad is not None]
    flat = torch.cat([gradient.flatten() for gradient in gradients])
    dist.all_reduce(flat)
    parts = (flat / dist.get_world_size()).split([gradient.numel() for gradient in gradients])
    for gradient, part in zip(gradients, parts, strict=True):
        gradient.copy_(part.view_as(gradient))


def _mean(value: float) -> float:
    """Over the processes: all stop at the same step."""
    mean = torch.tensor(value)
    dist.all_reduce(mean)
    return mean.item() / dist.get_world_size()


def train(model: PreTrainedModel, batches: Batches, config: Config) -> list[dict[str, float]]:
    """For `config.minutes`: the learning rate falls linearly in the second half; pages grow over the first fifth."""
    optimizers, naming = (
        make_optimizers(model, config.learning_rate),
        Naming(model, batches.processor, 1000 * config.seed + dist.get_rank()),
    )
    begin = last_report = time.monotonic()
    log, step, tokens, answer_loss = [], 0, 0, math.nan
    while (progress := _mean((time.monotonic() - begin) / (60 * config.minutes))) < 1:
        grown = 1.0 if config.init_from else min(1.0, 5 * progress)
        max_elements, max_links = 6 + round((config.max_elements - 6) * grown), 1 + round(5 * grown)
        batch = batches.draw(max_elements, max_links, config.tokens_per_step)
        for optimizer in optimizers:
            for group in optimizer.param_groups:
                group["lr"] = config.learning_rate * min(1.0, (step + 1) / 20, 2 * (1 - progress))
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=_HAS_BF16):
            loss = answer_loss_of(model, batch)
        (loss + naming.loss(PICTURES_PER_STEP)).backward()
        average_gradients(model)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad()
        step, tokens = step + 1, tokens + batch["input_ids"].numel()
        answer_loss = loss.item() if math.isnan(answer_loss) else 0.98 * answer_loss + 0.02 * loss.item()
        if dist.get_rank() == 0 and time.monotonic() - last_report > 60 * REPORT_MINUTES:
            last_report = time.monotonic()
            log.append(dict(minutes=(last_report - begin) / 60, step=step, tokens=tokens, loss=answer_loss))
            log[-1]["named"] = naming.right
            for name, drawn in (("exact_match", False), ("exact_match_drawn", True)):
                log[-1][name] = exact_match(model, batches, max_elements, num_examples=64, drawn=drawn)
            print(json.dumps({key: round(value, 4) for key, value in log[-1].items()}), flush=True)
            model.save_pretrained(config.output_dir / "latest")
    return log


def _corpus(num_pages: int = 4000) -> Iterator[str]:
    """What the tokenizer is trained on."""
    rng = random.Random(77)
    for _ in range(num_pages):
        yield "\n".join(make_example(rng, max_elements=20).turns)
        words = rng.sample(ENGLISH, 40)
        yield " ".join(words + [word.capitalize() for word in words])


def main(config: Config) -> None:
    """Build, train, save."""
    dist.init_process_group("gloo")
    torch.manual_seed(config.seed)
    if config.init_from:
        model, processor = load(config.init_from)
    else:
        numbers = [str(number) for number in range(10, 100)]  # labels of elements
        tokenizer = policy.make_tokenizer(_corpus(), VOCAB_SIZE, numbers)
        processor = policy.make_processor(tokenizer)
        model = policy.make_model(tokenizer)
        labels = tokenizer.convert_tokens_to_ids([str(number) for number in range(1, 100)])
        Wiring(model.model.text_model, labels, config.seed).apply()
        start_vision(model)
        print(f"named right: {learn_to_see(model, processor, config.seeing_minutes):.2f}", flush=True)
    for weight in model.parameters():
        dist.broadcast(weight.data, 0)
    model.set_attn_implementation("sdpa")
    processor.save_pretrained(config.output_dir)
    shares = {"share_of_tables": config.share_of_tables, "share_of_titles": config.share_of_titles}
    batches = Batches(processor, model.config, seed=1000 * config.seed + dist.get_rank(), **shares)
    log = train(model.train(), batches, config)
    if dist.get_rank() > 0:
        return
    results = [
        exact_match(model, batches, config.max_elements, num_examples=300, drawn=drawn) for drawn in (False, True)
    ]
    print(f"exact match on 300 fresh pages: {results[0]:.3f} where nothing is drawn, {results[1]:.3f} where it is")
    model.to(torch.bfloat16).save_pretrained(config.output_dir)
    report = dict(exact_match=results[0], exact_match_drawn=results[1], log=log)
    (config.output_dir / "pretraining.json").write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    cli.run(Config, main, description=__doc__)
