"""How closely the log-probabilities of server and trainer agree, and how closely they may.

Both compute the same function of the same tokens and pixels, in another order: the server reads prompts in chunks on
whole matrices, the trainer cuts them over tensor-parallel ranks. In fp32 the difference is rounding in the 24th bit,
far below `FP32_BOUND`, which is room for the tokens that idefics2's server never says (the trainer gives them their
share, 4e-5 here). In bf16 each rounding errs by `ROUNDING` of a number (root mean square; 8 significant bits), and the
errors of what is rounded one after the other add up like a random walk: so each side lies

    e <= 2 * ROUNDING * spread * sqrt(ROUNDINGS_A_LAYER * (layers + 1))

from fp32, where `spread` is the standard deviation of log-probabilities over the tokens (an error of the hidden state
by a share moves a logit by this share of its spread) and 2 allows for attention, which enlarges errors of its scores.
Two sides that round independently are sqrt(e_server^2 + e_trainer^2) apart, and on average not at all. What is larger,
or leans to one side, is not rounding: another token, pixel, position or scale.
"""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from pyarrow import parquet

from common.files import read_json

ROUNDING = 2**-7 / math.sqrt(12) * math.sqrt(0.375 / math.log(2))
"""Of a number rounded to bf16, relative, root mean square: the spacing 2^-7 of [1, 2) over its logarithms."""
ROUNDINGS_A_LAYER = 12
FP32_BOUND = 1e-4
INDEPENDENT = 1.25
"""Room for the sample: a root mean square of some hundred differences is known to about 5 %."""
LEANING = 4.0
"""Standard errors that a mean may be away from 0."""

Replies = Mapping[str, Sequence[float]]
"""Log-probabilities of each sample's reply, token by token."""


@dataclasses.dataclass(frozen=True)
class Difference:
    """Of two sides, over all tokens of all replies."""

    tokens: int
    mean: float
    rms: float
    largest: float

    @staticmethod
    def of(one: Replies, other: Replies) -> "Difference":
        """`AssertionError` unless both have the same replies with the same numbers of tokens."""
        assert one.keys() == other.keys(), f"samples of one side alone: {sorted(one.keys() ^ other.keys())}"
        lengths = {key: (len(one[key]), len(other[key])) for key in one if len(one[key]) != len(other[key])}
        assert not lengths, f"replies of different lengths: {lengths}"
        values = [left - right for key in one for left, right in zip(one[key], other[key], strict=True)]
        return Difference(
            len(values),
            math.fsum(values) / len(values),
            math.sqrt(math.fsum(value * value for value in values) / len(values)),
            max(map(abs, values)),
        )


def spread(replies: Replies) -> float:
    """Standard deviation of all log-probabilities."""
    values = [value for reply in replies.values() for value in reply]
    mean = math.fsum(values) / len(values)
    return math.sqrt(math.fsum((value - mean) ** 2 for value in values) / len(values))


def bf16_bound(replies: Replies, layers: int) -> float:
    """Root mean square that bf16 explains between one side and fp32."""
    return 2 * ROUNDING * spread(replies) * math.sqrt(ROUNDINGS_A_LAYER * (layers + 1))


def server_logprobs(samples: Path) -> Replies:
    """What the server gave to the tokens that it drew, as samples carry it."""
    return {sample["id"]: sample["logprobs"] for sample in read_json(samples)}


def trainer_logprobs(scores: Path) -> Replies:
    """What `score.sh` gives to the same tokens."""
    return {row["id"]: row["token_logprobs"] for row in parquet.read_table(scores).to_pylist()}
