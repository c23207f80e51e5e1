"""Steps of a trajectory as one sequence, where the tokens of each are the beginning of the next one's.

Then a position sees in the sequence what it sees in the step alone, and one forward pass gives every step's
log-probabilities. Tokens decide, not texts: a tree that was cut to fit, sampled tokens that are not what the tokenizer
makes of their text, or a chat template that ends only the last reply begin another sequence.
"""

import dataclasses
from collections.abc import Sequence

import torch
from torch.nn import functional

from training.batches.collate import TokenizedSample


def chain(steps: Sequence[TokenizedSample]) -> list[TokenizedSample]:
    """As few sequences as may be; `steps` are one trajectory's turn samples, oldest first."""
    chains: list[TokenizedSample] = []
    for step in steps:
        if chains and _begins(chains[-1], step):
            step = _joined(chains.pop(), step)
        chains.append(step)
    return chains


def _begins(before: TokenizedSample, step: TokenizedSample) -> bool:
    """Whether `step` goes on from all of `before`, and learns other tokens."""
    length = len(before.ids)
    return (
        before.ids.equal(step.ids[:length])
        and before.images == step.images[: len(before.images)]
        and before.temperature == step.temperature
        and not step.loss_mask[:length].any()
    )


def _joined(before: TokenizedSample, step: TokenizedSample) -> TokenizedSample:
    more = (0, len(step.ids) - len(before.ids))
    loss_mask = functional.pad(before.loss_mask, more) | step.loss_mask
    known = [one.behavior_logprobs for one in (before, step)]
    if known[0] is not None:
        old = functional.pad(known[0], more, value=torch.nan)
        known[1] = old if known[1] is None else torch.where(step.loss_mask, known[1], old)
    return dataclasses.replace(step, loss_mask=loss_mask, behavior_logprobs=known[1], earlier=before.steps)
