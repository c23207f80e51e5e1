"""Sequence: one request on its way through the engine, and the completion it ends in."""

import concurrent.futures
import dataclasses
import time
from collections.abc import Callable
from collections.abc import Sequence as Listed

import numpy as np
import torch

from server.engine.model.prompt import Prompt
from server.engine.reply_form.grammar import Constraint
from server.engine.sampling import DrawnToken, SamplingParams

OnToken = Callable[[DrawnToken], None]  # called from the engine's thread


class EngineBusyError(Exception):
    """The queue is full, or the engine is shutting down."""


class DeadlineError(Exception):
    """The request was not finished in the time it had."""


class MemoryFullError(Exception):
    """There was no memory left for the request, although what could be freed was freed."""


class EngineDeadError(Exception):
    """The engine does not run any longer."""


@dataclasses.dataclass(frozen=True)
class Completion:
    """A reply. `token_ids` end with the end token unless `finish_reason` is "length", or a stop string or the form that
    was asked for ended it;
    `logprobs` belong to them and are the model's own, before temperature, top-k and top-p; `drawn` says more of each,
    and is empty for a scored answer. Of the `prompt_tokens`, `cached_tokens` had been read before. Times are in
    seconds: in the queue, to the first token, in all."""

    prompt_tokens: int
    token_ids: list[int]
    logprobs: list[float]
    finish_reason: str
    weights_version: str = ""
    cached_tokens: int = 0
    drawn: Listed[DrawnToken] = ()
    queue_s: float = 0.0
    first_token_s: float = 0.0
    total_s: float = 0.0


@dataclasses.dataclass(frozen=True)
class Options:
    """What a request may ask of the engine beside its sampling.

    `session` names the episode whose steps follow each other. `stop` is asked after every token whether the reply ends.
    `constraint` says which tokens it may go on with. `num_top` likeliest tokens are told beside each that is drawn.
    `num_scored` tokens at the end of the prompt are given an answer's log-probabilities instead of a reply.
    `prefetch` prompts are only read, when nothing else is to be read, for the session's next request to find.
    """

    session: str | None = None
    on_token: OnToken | None = None
    stop: Callable[[list[int]], bool] | None = None
    deadline_s: float | None = None
    constraint: Constraint | None = None
    num_top: int = 0
    num_scored: int = 0
    prefetch: bool = False


class PendingReply(concurrent.futures.Future[Completion]):
    """A completion to come, and the weights that it will have been made by."""

    weights_version = ""


@dataclasses.dataclass(eq=False)
class Sequence:
    """A request: first in the queue, then reading its prompt in a row of the slots, then decoding."""

    prompt: Prompt
    params: SamplingParams
    options: Options
    future: PendingReply = dataclasses.field(default_factory=PendingReply)
    max_new_tokens: int = 0
    row: int = -1
    num_read: int = 0
    cached_tokens: int = 0
    token_ids: list[int] = dataclasses.field(default_factory=list)
    drawn: list[DrawnToken] = dataclasses.field(default_factory=list)
    scores: list[float] = dataclasses.field(default_factory=list)
    last_kept: int = 2  # drafted tokens of the last step that the model drew too
    features: dict[str, torch.Tensor] = dataclasses.field(default_factory=dict)  # by the image's key
    arrived: float = dataclasses.field(default_factory=time.monotonic)
    admitted: float = 0.0
    answered: float = 0.0

    def __post_init__(self) -> None:
        self._generator = self.params.generator()
        self._uniforms: list[float] = []

    @property
    def prompt_tokens(self) -> int:
        return len(self.prompt.token_ids)

    @property
    def num_image_tokens(self) -> int:
        return len(self.prompt.image_positions)

    @property
    def first_scored(self) -> int:
        """Position of the first scored token; the prompt's length without any."""
        return self.prompt_tokens - self.options.num_scored

    @property
    def reusable(self) -> int:
        """Most positions that may come from elsewhere: what follows must be computed for its logits."""
        return self.first_scored - 1

    @property
    def max_length(self) -> int:
        """Positions it may take in the slots."""
        return self.prompt_tokens + self.max_new_tokens

    @property
    def position(self) -> int:
        """Where the newest token, which is not in the slots yet, will stand."""
        return self.prompt_tokens + len(self.token_ids) - 1

    def uniform(self, number: int) -> float:
        """The random number in [0, 1) that draws the reply's token of this number."""
        while len(self._uniforms) <= number:
            self._uniforms.append(torch.rand((), generator=self._generator).item())
        return self._uniforms[number]

    @property
    def keys_in_slots(self) -> np.ndarray:
        """[n]: keys of the positions that its row holds."""
        if not self.token_ids:
            return self.prompt.keys[: self.num_read]
        return np.concatenate([self.prompt.keys, np.array(self.token_ids[:-1], dtype=np.int64)])

    def forget_features(self) -> None:
        """Those of the images that have been read, and are not shown again."""
        bounds, positions = self.prompt.image_bounds, self.prompt.image_positions
        unread = {
            image.key
            for image, end in zip(self.prompt.images, bounds[1:], strict=True)
            if positions[end - 1] >= self.num_read
        }
        self.features = {key: one for key, one in self.features.items() if key in unread}

    @property
    def expired(self) -> bool:
        limit = self.options.deadline_s
        return limit is not None and time.monotonic() > self.arrived + limit

    def completion(self, finish_reason: str, weights_version: str) -> Completion:
        now = time.monotonic()
        return Completion(
            self.first_scored,
            self.token_ids or self.prompt.token_ids[self.first_scored :],
            [token.logprob for token in self.drawn] or self.scores,
            finish_reason,
            weights_version,
            self.cached_tokens,
            self.drawn,
            queue_s=self.admitted - self.arrived,
            first_token_s=self.answered - self.arrived,
            total_s=now - self.arrived,
        )
