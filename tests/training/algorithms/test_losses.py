"""Losses of the algorithms on numbers: the gradient of WebRL's regression, GRPO against a reference written by hand."""

import math

import pytest
import torch

from training import algorithms
from training.algorithm_names import NAMES
from training.algorithms.algorithm import BatchColumns, PredictedTokens
from training.loop.objective import no_columns

COUNTS = [2, 1, 3, 2]
"""Predicted tokens of four samples."""


def batch(logprobs: torch.Tensor, per_token: dict[str, torch.Tensor], **per_sample: list[float]) -> PredictedTokens:
    numbers = {name: torch.tensor(values) for name, values in per_sample.items()}
    count = torch.tensor(COUNTS if len(logprobs) == sum(COUNTS) else [len(logprobs)])
    return PredictedTokens(logprobs, BatchColumns(count, numbers, per_token))


def loss_of(name: str, options: str, tokens: PredictedTokens) -> torch.Tensor:
    """As `Objective` makes it of one micro-batch."""
    algorithm = algorithms.load(name, options)
    return algorithm.token_losses(tokens).sum() / algorithm.shares(tokens.columns).sum()


def slope(rho: float, advantage: float, options: str, reference: float = -3.0) -> tuple[float, float]:
    """(loss, its derivative by rho) of a reply of two tokens with the log-ratio `rho` to its reference: its sum in the
    paper's form, its mean in the released one."""
    referred = torch.full((2,), reference)
    scale = 1.0 if "released" in options else 0.5
    logprobs = (referred + rho * scale).requires_grad_()
    tokens = batch(logprobs, {"reference_logprobs": referred}, advantage=[advantage])
    loss = loss_of("webrl", options, tokens)
    loss.backward()
    return loss.item(), float(logprobs.grad.sum() * scale)


@pytest.mark.parametrize("beta", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("advantage", [0.8, -0.3])
def test_the_regressions_gradient(advantage: float, beta: float) -> None:
    """-A at the reference, 0 where beta rho = A, of the other sign beyond; a bad action's probability falls."""
    options = f"beta={beta}"
    assert slope(0.0, advantage, options)[1] == pytest.approx(-advantage, abs=1e-6)
    assert slope(advantage / beta, advantage, options) == pytest.approx((0.0, 0.0), abs=1e-6)
    assert slope(2 * advantage / beta, advantage, options)[1] == pytest.approx(advantage, abs=1e-5)
    assert slope(0.3, advantage, options)[0] == pytest.approx((beta * 0.3 - advantage) ** 2 / (2 * beta), abs=1e-6)


@pytest.mark.parametrize("mode", ["paper", "released"])
def test_webrls_loss_with_replay_is_a_mean_over_what_counts(mode: str) -> None:
    """As if the samples of weight 0 were not there: neither in the sum nor in what it is divided by."""
    logprobs = torch.tensor([-1.0, -0.5, -2.0, -0.1, -0.2, -0.3, -1.5, -0.7], requires_grad=True)
    referred = {"reference_logprobs": torch.full((8,), -0.6)}
    tokens = batch(logprobs, referred, advantage=[1.0, 0.5, 0.8, 0.3], weight=[0.0, 1.0, 1.0, 0.0])
    loss = loss_of("webrl", f"mode={mode},replay=2", tokens)
    loss.backward()
    fewer = BatchColumns(
        torch.tensor([1, 3]),
        {"advantage": torch.tensor([0.5, 0.8]), "weight": torch.ones(2)},
        {"reference_logprobs": torch.full((4,), -0.6)},
    )
    alone = logprobs.detach()[2:6].requires_grad_()
    expected = loss_of("webrl", f"mode={mode}", PredictedTokens(alone, fewer))
    expected.backward()
    assert loss.item() == pytest.approx(expected.item()) and expected.item() > 0
    assert logprobs.grad.tolist() == pytest.approx([0.0, 0.0, *alone.grad.tolist(), 0.0, 0.0])


@pytest.mark.parametrize(("reference", "beta"), [(math.log(0.5), 1.0), (math.log(0.9), 5.0)])
def test_the_released_regression_is_filtered_imitation_with_a_trust_region(reference: float, beta: float) -> None:
    """-clip(1 - beta rho, 0, 1) for good actions, beta larger where the reference is sure; nothing for bad ones."""
    for rho in (-2.0, 0.0, 0.1, 0.15, 0.6, 2.0):
        expected = -min(1.0, max(0.0, 1 - beta * rho))
        assert slope(rho, 1.0, "mode=released", reference)[1] == pytest.approx(expected, abs=1e-5)
        assert slope(rho, -0.6, "mode=released", reference) == (0.0, 0.0)


def make_tokens() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """(log-probabilities now, when training began, when sampled) with ratios on all sides of every limit."""
    now = -torch.tensor([0.5, 1.0, 2.0, 0.7, 1.2, 3.0, 0.9, 0.4])
    old = now + torch.tensor([0.3, -0.4, 2.5, 0.1, -1.6, -0.05, -0.25, 0.5])
    behavior = old - torch.tensor([0.2, 1.7, -0.3, 0.0, 1.0, 0.4, -0.6, 0.1])
    return now, old, behavior


ADVANTAGES, WEIGHTS = [1.2, -0.7, -0.5, 0.0], [1.0, 1.0, 1.0, 0.0]
"""The last sample is of a group that was dropped."""


def grpo_by_hand(options: dict[str, float], decoupled: bool, by_token: bool) -> tuple[float, list[float]]:
    """(loss, its gradient) with loops and floats alone."""
    now, old, behavior = (part.tolist() for part in make_tokens())
    anchor = old if decoupled else behavior
    total, denominator, gradient, start = 0.0, 0.0, [0.0] * len(now), 0
    for count, advantage, weight in zip(COUNTS, ADVANTAGES, WEIGHTS, strict=True):
        if weight == 0:
            start += count
            continue
        denominator += count if by_token else 1
        for token in range(start, start + count):
            ratio = math.exp(now[token] - anchor[token])
            low, high = 1 - options["clip_low"], 1 + options["clip_high"]
            plain, cut = -advantage * ratio, -advantage * min(max(ratio, low), high)
            value, slope = (plain, plain) if plain >= cut else (cut, 0.0 if not low < ratio < high else cut)
            if options["dual_clip"] and value > options["dual_clip"] * abs(advantage):
                value, slope = options["dual_clip"] * abs(advantage), 0.0
            scale = 1.0 if by_token else 1 / count
            if decoupled:
                correction = math.exp(old[token] - behavior[token])
                scale *= 0.0 if correction > options["drop_above"] else correction
            total += scale * value
            gradient[token] = scale * slope
        start += count
    return total / denominator, [value / denominator for value in gradient]


@pytest.mark.parametrize("mean", ["sample", "token"])
@pytest.mark.parametrize("ratio", ["behavior", "decoupled"])
@pytest.mark.parametrize("dual_clip", [0.0, 3.0])
def test_grpo_is_the_reference_written_by_hand(mean: str, ratio: str, dual_clip: float) -> None:
    options = {"clip_low": 0.2, "clip_high": 0.28, "dual_clip": dual_clip, "drop_above": 5.0}
    now, old, behavior = make_tokens()
    logprobs = now.clone().requires_grad_()
    per_token = {"behavior_logprobs": behavior, "proximal_logprobs": old}
    text = ",".join(f"{name}={value}" for name, value in options.items()) + f",mean={mean},ratio={ratio}"
    loss = loss_of("grpo", text, batch(logprobs, per_token, advantage=ADVANTAGES, weight=WEIGHTS))
    loss.backward()
    expected, gradient = grpo_by_hand(options, ratio == "decoupled", mean == "token")
    assert loss.item() == pytest.approx(expected, abs=1e-6)
    assert logprobs.grad.tolist() == pytest.approx(gradient, abs=1e-6)


def test_the_numbers_of_that_test_reach_every_limit() -> None:
    """A good and a bad token beyond either side of the clip, one beyond the dual clip, one correction above 5."""
    now, old, behavior = make_tokens()
    advantage = torch.tensor(ADVANTAGES).repeat_interleave(torch.tensor(COUNTS))
    for anchor in (old, behavior):
        ratio = (now - anchor).exp()
        assert ((ratio > 1.28) & (advantage > 0)).any() or ((ratio > 3) & (advantage < 0)).any()
        assert ((ratio < 0.8) & (advantage < 0)).any() and ((ratio > 3) & (advantage < 0)).any()
    assert ((old - behavior).exp() > 5).any()


def test_grpos_statistics_are_those_of_loops_over_its_kept_tokens() -> None:
    now, old, behavior = make_tokens()
    per_token = {"behavior_logprobs": behavior, "proximal_logprobs": old}
    tokens = batch(now, per_token, advantage=ADVANTAGES, weight=WEIGHTS)
    found = algorithms.load("grpo", "ratio=decoupled").statistics(tokens)
    kept = sum(COUNTS[:3])
    advantages = [value for value, count in zip(ADVANTAGES, COUNTS, strict=True) for _ in range(count)][:kept]
    ratios = [math.exp(one - other) for one, other in zip(now.tolist(), old.tolist(), strict=True)][:kept]
    pairs = list(zip(ratios, advantages, strict=True))
    expected = {
        "weighted": WEIGHTS,
        "ratio": ratios,
        "kl": [ratio - 1 - math.log(ratio) for ratio in ratios],
        "clipped": [float(ratio > 1.28 if advantage > 0 else ratio < 0.8) for ratio, advantage in pairs],
        "dual_clipped": [float(advantage < 0 and ratio > 3) for ratio, advantage in pairs],
        "dropped": [float(math.exp(one) > 5) for one in (old - behavior).tolist()][:kept],
    }
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        assert found[name].tolist() == pytest.approx(values, abs=1e-5), name
    assert all(any(expected[name]) for name in ("clipped", "dual_clipped", "dropped"))


@pytest.mark.parametrize("name", NAMES)
def test_statistics_of_no_sample_are_none(name: str) -> None:
    """A rank may have none of a step's samples, and must know what the others say."""
    algorithm = algorithms.load(name)
    found = algorithm.statistics(PredictedTokens(torch.zeros(0), no_columns(algorithm)))
    assert all(values.numel() == 0 for values in found.values())
    assert ("weighted" in found) == ("weight" in algorithm.needs.per_sample and name != "sft")


def test_webrls_statistics_are_of_what_counts() -> None:
    numbers = {"advantage": torch.tensor([0.5, -0.25]), "weight": torch.tensor([1.0, 0.0])}
    reference = {"reference_logprobs": torch.tensor([-2.0, -2.5, -1.0])}
    tokens = PredictedTokens(torch.tensor([-1.0, -2.0, -3.0]), BatchColumns(torch.tensor([2, 1]), numbers, reference))
    found = algorithms.load("webrl", "replay=2").statistics(tokens)
    assert {name: values.tolist() for name, values in found.items()} == {
        "weighted": [1.0, 0.0],
        "log_ratio": [1.5],
        "advantage": [0.5],
    }


def test_a_dropped_group_counts_nowhere() -> None:
    """Leaving its samples out gives the same loss."""
    now, old, behavior = make_tokens()
    per_token = {"behavior_logprobs": behavior, "proximal_logprobs": old}
    whole = batch(now, per_token, advantage=ADVANTAGES, weight=WEIGHTS)
    first = torch.tensor(COUNTS[:3])
    fewer = PredictedTokens(
        now[:6],
        BatchColumns(
            first,
            {"advantage": torch.tensor(ADVANTAGES[:3]), "weight": torch.ones(3)},
            {name: value[:6] for name, value in per_token.items()},
        ),
    )
    for mean in ("sample", "token"):
        options = f"mean={mean},ratio=decoupled"
        assert loss_of("grpo", options, whole).item() == pytest.approx(loss_of("grpo", options, fewer).item())


def test_released_likelihood_is_a_sum_of_clamped_tokens() -> None:
    """A token below 0.001 or above 0.99 has no gradient; the mean is over all of the kept trajectories' steps."""
    logprobs = torch.tensor([-0.5, -8.0, -0.001, -1.0, -2.0, -3.0, -1.0, -1.0], requires_grad=True)
    tokens = batch(logprobs, {}, weight=[1.0, 1.0, 0.0, 1.0], share=[1.0, 1.0, 1.0, 0.0])
    loss = loss_of("digirl", "mode=released", tokens)
    loss.backward()
    assert loss.item() == pytest.approx((0.5 - math.log(0.001) - math.log(0.99) + 2.0) / 3)
    assert logprobs.grad.tolist() == pytest.approx([-1 / 3, 0, 0, 0, 0, 0, -1 / 3, -1 / 3])
    paper = loss_of("digirl", "", batch(logprobs.detach(), {}, weight=[1.0, 1.0, 0.0, 1.0]))
    assert paper.item() == pytest.approx((8.5 / 2 + 0.001 + 1.0) / 3)


@pytest.mark.parametrize(("name", "denominator"), [("filtered_bc", 3.0), ("digiq", 2.5)])
def test_released_cloning_has_digirls_likelihood(name: str, denominator: float) -> None:
    """Weights times sums of clamped tokens; over the sum of weights, and over Digi-Q's shares."""
    logprobs = torch.tensor([-0.5, -8.0, -0.001, -1.0, -2.0, -3.0, -1.0, -1.0], requires_grad=True)
    tokens = batch(logprobs, {}, weight=[0.5, 1.0, 0.0, 1.5], share=[1.0, 0.5, 1.0, 0.0])
    loss = loss_of(name, "mode=released", tokens)
    loss.backward()
    assert loss.item() == pytest.approx((0.5 * (0.5 - math.log(0.001)) - math.log(0.99) + 1.5 * 2.0) / denominator)
    assert logprobs.grad.tolist() == pytest.approx([-0.5 / denominator, *[0] * 5, *[-1.5 / denominator] * 2])


def test_the_released_confidence_begins_at_eight_tenths() -> None:
    """Between 0.6 and 0.8 beta is 1 still: at rho 0.5 half of the slope, not none."""
    assert slope(0.5, 1.0, "mode=released", math.log(0.7))[1] == pytest.approx(-0.5, abs=1e-5)


def test_grpo_has_a_gradient_where_a_ratio_overflows() -> None:
    logprobs = torch.tensor([-0.1, -0.1], requires_grad=True)
    tokens = batch(logprobs, {"behavior_logprobs": torch.tensor([-95.0, -0.2])}, advantage=[-1.0], weight=[1.0])
    loss = loss_of("grpo", "", tokens)
    loss.backward()
    assert loss.item() == pytest.approx((3 + math.exp(0.1)) / 2) and logprobs.grad.isfinite().all()


def test_digiqs_policy_gradient_pushes_bad_actions_away() -> None:
    logprobs = torch.full((8,), -1.0, requires_grad=True)
    tokens = batch(logprobs, {}, weight=[0.5, -0.4, 0.0, 0.0], share=[1.0, 1.0, 0.0, 0.0])
    loss = loss_of("digiq", "loss=pg", tokens)
    loss.backward()
    assert loss.item() == pytest.approx((0.5 - 0.4) / 2)
    assert logprobs.grad.tolist() == pytest.approx([-0.125, -0.125, 0.2, 0, 0, 0, 0, 0])
