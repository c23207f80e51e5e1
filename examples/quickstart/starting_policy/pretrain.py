"""Make the starting policy of the quickstart: `python examples/quickstart/starting_policy/pretrain.py`.

Trains the wired model on synthetic page-reading text for `--minutes` of wall time and writes a Hugging Face folder with
bfloat16 weights (about 5 MB), the tokenizer, processor and chat template. It stands where idefics2-8b stands for a user
with GPUs. Nothing of the embedded websites is seen here.
"""

import dataclasses
import json
import math
import random
import time
from collections.abc import Iterator
from pathlib import Path

import policy
import torch
from pages import ENGLISH, Example, make_example
from PIL import Image, ImageDraw
from torch import Tensor
from transformers import Idefics2ForConditionalGeneration, Idefics2Processor
from wiring import Wiring

from common import cli

VOCAB_SIZE = 2048


@dataclasses.dataclass(frozen=True)
class Config:
    """Flags of the recipe; the shipped weights were made in three legs (flags in `weights/pretraining.json`)."""

    output_dir: Path = Path(__file__).parent / "weights"
    """Where the Hugging Face folder is written."""
    minutes: float = 25.0
    """Wall time of training on two idle cores; the learning rate decays over it."""
    max_elements: int = 40
    """Most tree lines of a page, reached after a fifth of the time."""
    tokens_per_step: int = 4096
    """Padded tokens per optimizer step."""
    learning_rate: float = 2e-3
    """Peak learning rate (AdamW, linear decay)."""
    num_threads: int = 2
    """Torch threads."""
    seed: int = 0
    """Seed of weights and pages."""
    init_from: Path | None = None
    """Continue from this folder's weights and tokenizer instead of the wired initialisation."""


class Batches:
    """Encodes examples and groups them by length; answers only are learned."""

    def __init__(self, processor: Idefics2Processor, seed: int):
        self.tokenizer, self.rng = processor.tokenizer, random.Random(seed)
        self.image_tokens = self._ids(
            "<fake_token_around_image>" + "<image>" * policy.NUM_LATENTS + "<fake_token_around_image>"
        )
        self.screenshots = screenshot_pool(processor, self.rng)

    def _ids(self, text: str) -> list[int]:
        return self.tokenizer(text, add_special_tokens=False).input_ids

    def encode(self, example: Example) -> tuple[list[int], list[int]]:
        """(token ids, labels) in the form the chat template gives; labels are -100 outside learned answers."""
        ids, labels = [self.tokenizer.bos_token_id], [-100]
        for number, text in enumerate(example.turns):
            opening = self._ids("User: " if number % 2 == 0 else "Assistant:")
            body = []
            for position, part in enumerate((text if number % 2 == 0 else f" {text}").split("<image>")):
                body += (self.image_tokens if position else []) + self._ids(part)
            body += self._ids("<end_of_utterance>")
            learned = number % 2 == 1 and number >= example.first_target
            ids += opening + body + self._ids("\n")
            labels += [-100] * len(opening) + (body if learned else [-100] * len(body)) + [-100]
        return ids, labels

    def draw(self, max_elements: int, max_links: int, num_tokens: int) -> dict[str, Tensor]:
        """A right-padded batch of about `num_tokens` tokens, of samples of similar length."""
        examples = (make_example(self.rng, max_elements, max_links) for _ in range(24))
        encoded = sorted((self.encode(example) for example in examples), key=lambda pair: len(pair[0]))
        start = self.rng.randrange(len(encoded))
        chosen = [encoded[start]]
        for pair in encoded[start + 1 :]:
            if len(pair[0]) * (len(chosen) + 1) > num_tokens:
                break
            chosen.append(pair)
        return self.collate(chosen)

    def collate(self, pairs: list[tuple[list[int], list[int]]]) -> dict[str, Tensor]:
        longest = max(len(ids) for ids, _ in pairs)

        def pad(rows: list[list[int]], value: int) -> Tensor:
            return torch.tensor([row + [value] * (longest - len(row)) for row in rows])

        images = torch.stack([self.rng.choice(self.screenshots) for _ in pairs])[:, None]
        return dict(
            input_ids=pad([ids for ids, _ in pairs], self.tokenizer.pad_token_id),
            attention_mask=pad([[1] * len(ids) for ids, _ in pairs], 0),
            labels=pad([labels for _, labels in pairs], -100),
            pixel_values=images,
        )


def screenshot_pool(processor: Idefics2Processor, rng: random.Random, size: int = 64) -> list[Tensor]:
    """Random page-like pictures, so that the vision tower and connector are exercised; [3, 120, 160] each."""
    pool = []
    for _ in range(size):
        image = Image.new("RGB", (1024, 768), tuple(rng.randrange(200, 256) for _ in range(3)))
        draw = ImageDraw.Draw(image)
        for _ in range(rng.randint(3, 15)):
            left, top = rng.randrange(900), rng.randrange(700)
            box = (left, top, left + rng.randint(40, 400), top + rng.randint(10, 160))
            draw.rectangle(box, fill=tuple(rng.randrange(256) for _ in range(3)))
        pool.append(processor.image_processor(image, return_tensors="pt")["pixel_values"][0, 0])
    return pool


def answer_loss_of(model: Idefics2ForConditionalGeneration, batch: dict[str, Tensor]) -> Tensor:
    """Mean cross-entropy over answer tokens; logits are made for those positions only."""
    labels = batch["labels"][:, 1:]
    learned = labels != -100
    inputs = {name: value for name, value in batch.items() if name != "labels"}
    hidden = model.model(**inputs, use_cache=False).last_hidden_state[:, :-1]
    return torch.nn.functional.cross_entropy(model.lm_head(hidden[learned]).float(), labels[learned])


@torch.no_grad()
def exact_match(
    model: Idefics2ForConditionalGeneration, batches: Batches, max_elements: int, num_examples: int
) -> float:
    """Share of answers whose every token is the most likely one (equals greedy decoding being exactly right)."""
    right = total = 0
    held_out = random.Random(999)
    for _ in range(num_examples):
        ids, labels = batches.encode(make_example(held_out, max_elements, num_questions=1))
        batch = batches.collate([(ids, labels)])
        expected = batch.pop("labels")[0, 1:]
        predicted = model(**batch).logits[0, :-1].argmax(-1)
        right += bool((predicted == expected)[expected != -100].all())
        total += 1
    return right / total


def train(model: Idefics2ForConditionalGeneration, batches: Batches, config: Config) -> list[dict[str, float]]:
    """AdamW with linear decay over `config.minutes`; pages grow over the first fifth."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=config.learning_rate, betas=(0.9, 0.95), weight_decay=0.0)
    begin = last_report = time.monotonic()
    log, step, tokens, answer_loss = [], 0, 0, math.nan
    while (progress := (time.monotonic() - begin) / (60 * config.minutes)) < 1:
        grown = 1.0 if config.init_from else min(1.0, 5 * progress)
        max_elements, max_links = 6 + round((config.max_elements - 6) * grown), 1 + round(5 * grown)
        batch = batches.draw(max_elements, max_links, config.tokens_per_step)
        for group in optimizer.param_groups:
            group["lr"] = config.learning_rate * min(1.0, (step + 1) / 20) * (1 - progress)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = answer_loss_of(model, batch)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        step, tokens = step + 1, tokens + batch["input_ids"].numel()
        answer_loss = loss.item() if math.isnan(answer_loss) else 0.95 * answer_loss + 0.05 * loss.item()
        if time.monotonic() - last_report > 60:
            last_report = time.monotonic()
            model.eval()
            accuracy = exact_match(model, batches, max_elements, num_examples=48)
            model.train()
            log.append(
                dict(
                    minutes=(last_report - begin) / 60, step=step, tokens=tokens, loss=answer_loss, exact_match=accuracy
                )
            )
            print(json.dumps({key: round(value, 4) for key, value in log[-1].items()}), flush=True)
            if config.output_dir:
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
    torch.set_num_threads(config.num_threads)
    torch.manual_seed(config.seed)
    if config.init_from:
        processor = Idefics2Processor.from_pretrained(config.init_from)
        model = Idefics2ForConditionalGeneration.from_pretrained(config.init_from, dtype=torch.float32)
    else:
        numbers = [str(number) for number in range(10, 100)]  # labels of elements
        tokenizer = policy.make_tokenizer(_corpus(), VOCAB_SIZE, numbers)
        processor = policy.make_processor(tokenizer)
        model = policy.make_model(tokenizer)
        labels = tokenizer.convert_tokens_to_ids([str(number) for number in range(1, 100)])
        Wiring(model.model.text_model, labels, config.seed).apply()
    model.set_attn_implementation("eager")  # faster than sdpa under bfloat16 autocast on CPU at these sizes
    processor.save_pretrained(config.output_dir)
    batches = Batches(processor, config.seed)
    log = train(model.train(), batches, config)
    model.eval()
    accuracy = exact_match(model, batches, config.max_elements, num_examples=300)
    print(f"exact match on 300 fresh pages of up to {config.max_elements} lines: {accuracy:.3f}")
    model.set_attn_implementation("sdpa")
    model.to(torch.bfloat16).save_pretrained(config.output_dir)
    report = dict(exact_match=accuracy, log=log)
    (config.output_dir / "pretraining.json").write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    cli.run(Config, main, description=__doc__)
