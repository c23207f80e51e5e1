"""Sampling: from a batch of logits to one token per sequence, each with its own temperature and its own generator.

A seeded request draws the same tokens whatever else is in the batch: its n-th token's random number is the n-th of its
own generator, and its row is computed on its own.
"""

import dataclasses
from collections.abc import Sequence
from typing import Annotated

import torch

from common.options.limits import between
from data.sampling import SamplingDefaults

LEAST_TOP_P = 1e-6
"""What is less leaves the likeliest token, too."""


@dataclasses.dataclass(frozen=True)
class SamplingParams(SamplingDefaults):
    """How one reply is drawn. Temperature 0 is greedy; `top_k` 0 and `top_p` 1 switch their filter off."""

    spelled = str
    seed: Annotated[int, between(-(2**63), 2**63 - 1)] | None = None
    """As OpenAI's. Those that we choose ourselves are 0 or more."""

    def used(self) -> dict[str, float | None]:
        """All of it by name, for the reply; without a seed it cannot be drawn again."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(SamplingParams)}

    def generator(self) -> torch.Generator:
        """This request's generator; on the CPU, so that a seed means the same on every device."""
        generator = torch.Generator()
        if self.seed is None:
            generator.seed()
        else:
            generator.manual_seed(self.seed)
        return generator


@dataclasses.dataclass(frozen=True, slots=True)
class DrawnToken:
    """`logprob` is the model's own: the softmax of its logits, whatever the request asks for.

    `sampling_logprob` is that of the distribution that the token was drawn from: after forbidden tokens (bad words, end
    tokens before `min_new_tokens`), temperature, top-k and top-p. It is 0 for a greedy token, the only one there was.

    `top` are the likeliest tokens with the model's own log-probabilities, as many as the request wants.
    """

    token_id: int
    logprob: float
    sampling_logprob: float
    top: list[tuple[int, float]] = dataclasses.field(default_factory=list)


def sample(
    logits: torch.Tensor, params: Sequence[SamplingParams], uniforms: Sequence[float]
) -> tuple[list[int], list[float]]:
    """Draw one token for each row of `logits` [rows, vocab] (float32; -inf where a token is forbidden) by a random
    number in [0, 1), which greedy rows don't look at.

    Returns the tokens and their log-probabilities under the distributions that they were drawn from.
    """
    tokens, logprobs = logits.argmax(dim=-1), logits.new_zeros(len(params))  # [rows]
    drawn = [row for row, param in enumerate(params) if param.temperature > 0]
    if drawn:
        tokens[drawn], logprobs[drawn] = _draw(
            logits[drawn], [params[row] for row in drawn], [uniforms[row] for row in drawn]
        )
    return tokens.tolist(), logprobs.tolist()


def _draw(
    logits: torch.Tensor, params: Sequence[SamplingParams], uniforms: Sequence[float]
) -> tuple[torch.Tensor, torch.Tensor]:
    """Inverse-CDF sampling over the tokens in falling order of probability: [rows, vocab] -> [rows], [rows]."""
    vocab = logits.shape[1]

    def column(values: Sequence[float]) -> torch.Tensor:
        return torch.tensor(values, dtype=torch.float32, device=logits.device)[:, None]

    # what float32 would round to 0 would leave no token to draw
    temperature = column([max(param.temperature, 1e-5) for param in params])
    top_p = column([max(param.top_p, LEAST_TOP_P) for param in params])
    top_k = torch.tensor([param.top_k or vocab for param in params], device=logits.device)[:, None]
    uniform = column(uniforms)

    scores, order = (logits / temperature).topk(min(vocab, int(top_k.max())), dim=-1)
    rank = torch.arange(scores.shape[1], device=logits.device)
    probabilities = scores.masked_fill(rank >= top_k, -torch.inf).softmax(dim=-1)
    before = probabilities.cumsum(dim=-1) - probabilities  # the mass of all likelier tokens
    probabilities = probabilities.masked_fill(before >= top_p, 0.0)
    cumulative = probabilities.cumsum(dim=-1)
    picked = (cumulative <= uniform * cumulative[:, -1:]).sum(dim=-1, keepdim=True)
    last = (probabilities > 0).sum(dim=-1, keepdim=True) - 1  # rounding may push a draw near 1 past the end
    picked = picked.minimum(last)
    mass = probabilities.gather(1, picked) / cumulative[:, -1:]
    return order.gather(1, picked)[:, 0], mass.log()[:, 0].clamp(max=0.0)
