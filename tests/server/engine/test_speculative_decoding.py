"""Drafts change how many steps a reply takes, and nothing else."""

import pytest

from server.engine.engine import Engine
from server.engine.model.prompt import ImageInput, Prompt
from server.engine.sampling import SamplingParams
from server.engine.sequence import Options, Sequence
from server.engine.speculative_decoding import Drafter
from tests.server.engine.test_engine import MIX, prompt_of


@pytest.mark.parametrize("temperature", [0.0, 0.8])
def test_replies_are_those_without_drafts(engines: tuple[Engine, Engine], temperature: float) -> None:
    """Greedy and seeded replies, again and again, so that later ones find the earlier ones."""
    replies = []
    for engine in engines:
        params = [SamplingParams(temperature, max_new_tokens=60, min_new_tokens=40, seed=n % 3) for n in range(9)]
        shapes = [MIX[n % 3] for n in range(9)]
        futures = [engine.submit(prompt_of(engine, *s), p) for s, p in zip(shapes, params, strict=True)]
        replies.append([future.result(120) for future in futures])
    drafted, plain = replies
    assert [one.token_ids for one in drafted] == [one.token_ids for one in plain]
    for one, other in zip(drafted, plain, strict=True):
        assert one.logprobs == pytest.approx(other.logprobs, abs=1e-4)
        assert len(one.logprobs) == len(one.token_ids)
    with_drafts, without = (engine.stats for engine in engines)
    assert with_drafts.kept_tokens > 0 and without.draft_tokens == 0
    assert with_drafts.steps < without.steps


def sequence(prompt: list[int], reply: list[int], images: int = 0, max_new_tokens: int = 100) -> Sequence:
    inputs = [ImageInput(str(number), 1, None, None) for number in range(images)]
    one = Sequence(Prompt(prompt, inputs, image_token_id=9), SamplingParams(), Options())
    one.token_ids, one.max_new_tokens, one.last_kept = reply, max_new_tokens, 8
    return one


def test_the_newest_place_counts_and_three_tokens_before_two() -> None:
    drafter = Drafter(3)
    assert drafter.draft(sequence([1, 2, 3, 4, 5, 2, 3, 6, 7, 8], [2, 3]), 50) == [6, 7, 8]
    assert drafter.draft(sequence([1, 2, 3, 4, 5, 2, 3, 6, 7, 8], [1, 2, 3]), 50) == [4, 5, 2]
    assert drafter.draft(sequence([1, 2, 3, 4, 5], [7]), 50) == []


def test_replies_before_are_remembered() -> None:
    drafter = Drafter(3)
    drafter.remember([20, 21, 22, 23, 24, 25])
    assert drafter.draft(sequence([1, 2, 3, 4], [20, 21]), 50) == [22, 23, 24]
    assert drafter.draft(sequence([20, 21, 5, 6], [20, 21]), 50) == [5, 6, 20]  # its own prompt comes first
    assert Drafter(0).draft(sequence([20, 21, 5, 6], [20, 21]), 50) == []


def test_a_draft_ends_before_an_image_and_where_the_reply_must_end() -> None:
    drafter = Drafter(8)
    assert drafter.draft(sequence([1, 2, 3, 9, 4, 5], [1, 2], images=1), 50) == [3]
    assert drafter.draft(sequence([1, 2, 3, 4, 5, 6], [1, 2], max_new_tokens=4), 50) == [3]
    assert drafter.draft(sequence([1, 2, 3, 4, 5, 6], [1, 2]), 2) == [3, 4]


def test_a_wrong_draft_makes_the_next_one_short() -> None:
    one = sequence([1, 2, 3, 4, 5, 6], [1, 2])
    one.last_kept = 0
    assert Drafter(8).draft(one, 50) == [3]
