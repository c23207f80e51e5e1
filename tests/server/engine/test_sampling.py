"""Sampling draws from the distribution that transformers' own filters define."""

import pytest
import torch
from transformers import TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper

from server.engine.sampling import SamplingParams, sample


def draws(logits: torch.Tensor, params: SamplingParams, count: int) -> torch.Tensor:
    """Relative frequency of each token over `count` draws."""
    generator = params.generator()
    uniforms = torch.rand(count, generator=generator).tolist()
    tokens, _ = sample(logits.expand(count, -1), [params] * count, uniforms)
    return torch.bincount(torch.tensor(tokens), minlength=logits.shape[0]) / count


@pytest.mark.parametrize("temperature, top_k, top_p", [(1.0, 0, 1.0), (1.2, 5, 1.0), (0.7, 0, 0.6), (1.2, 8, 0.8)])
def test_frequencies_match_transformers_filters(temperature: float, top_k: int, top_p: float) -> None:
    logits = torch.randn(20, generator=torch.Generator().manual_seed(0)) * 2
    expected = TemperatureLogitsWarper(temperature)(None, logits[None])
    if top_k:
        expected = TopKLogitsWarper(top_k)(None, expected)
    if top_p < 1:
        expected = TopPLogitsWarper(top_p)(None, expected)
    expected = expected.softmax(-1)[0]
    found = draws(logits, SamplingParams(temperature=temperature, top_k=top_k, top_p=top_p, seed=3), 20_000)
    assert torch.equal(found > 0, expected > 1e-4) or (found - expected).abs().max() < 0.01
    assert (found - expected).abs().max() < 0.015
    assert not found[expected == 0].any()


def test_a_tokens_log_probability_is_that_of_the_distribution_it_was_drawn_from() -> None:
    """Of transformers' warped scores, for each row's own temperature, top-k and top-p; greedy tokens have 0."""
    logits = torch.randn(4, 30, generator=torch.Generator().manual_seed(1)) * 2
    logits[:, 5] = -torch.inf
    params = [
        SamplingParams(temperature=0.7, top_k=0),
        SamplingParams(temperature=1.5, top_k=6),
        SamplingParams(temperature=1.2, top_k=12, top_p=0.8),
        SamplingParams(temperature=0),
    ]
    tokens, logprobs = sample(logits, params, [0.3, 0.6, 0.9, 0.0])
    for row, param in enumerate(params[:3]):
        scores = TemperatureLogitsWarper(param.temperature)(None, logits[row : row + 1])
        scores = TopKLogitsWarper(param.top_k)(None, scores) if param.top_k else scores
        scores = TopPLogitsWarper(param.top_p)(None, scores) if param.top_p < 1 else scores
        assert logprobs[row] == pytest.approx(scores.log_softmax(-1)[0, tokens[row]].item(), abs=1e-5)
    assert logprobs[3] == 0


def test_rows_do_not_share_dice_or_parameters() -> None:
    logits = torch.randn(3, 50)
    greedy, sharp, wide = SamplingParams(temperature=0), SamplingParams(top_k=1, seed=0), SamplingParams(seed=5)
    tokens, _ = sample(logits, [greedy, sharp, wide], [0.0, 0.9, 0.4])
    assert tokens[:2] == logits[:2].argmax(-1).tolist()
    alone, _ = sample(logits[2:], [wide], [0.4])
    assert tokens[2] == alone[0]


def test_forbidden_tokens_are_never_drawn() -> None:
    logits = torch.zeros(10)
    logits[3:] = -torch.inf
    assert not draws(logits, SamplingParams(temperature=100.0, seed=0), 5_000)[3:].any()


@pytest.mark.parametrize(
    "extreme", [{"temperature": 1e-320}, {"top_p": 1e-300}, {"temperature": 100.0, "top_p": 1e-45}]
)
def test_extremes_still_draw_the_likeliest(extreme: dict[str, float]) -> None:
    logits = torch.tensor([1.0, 30.0, 2.0])
    assert draws(logits, SamplingParams(seed=0, **extreme), 50)[1] == 1
