"""A vocabulary of a released model's size: merges of this repository's tasks and pages, and names for the rest."""

import json
from typing import Any

from tokenizers import Tokenizer, trainers

from tests.conftest import ROOT


def train(tokenizer: Tokenizer, size: int, first: list[str], alphabet: list[str]) -> dict[str, Any]:
    """The content of tokenizer.json after training: exactly `size` tokens, `first` of them first, then `alphabet`."""
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=first,
        initial_alphabet=alphabet,
        limit_alphabet=len(alphabet),
        show_progress=False,
    )
    files = [*ROOT.glob("data/tasks/*.jsonl"), *ROOT.glob("docs/**/*.md")]
    tokenizer.train([str(path) for path in sorted(files)], trainer)
    fields: dict[str, Any] = json.loads(tokenizer.to_str())
    vocabulary = fields["model"]["vocab"]
    for number in range(size - len(vocabulary)):
        vocabulary[f"unused{number}"] = len(vocabulary)
    return fields
