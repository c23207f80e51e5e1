"""Scoring: the log-probabilities that the model gives to answers it is shown."""

from collections.abc import Sequence
from typing import Any

from common.errors import UserError
from server.engine.engine import Engine
from server.engine.memory.prefix_store import common_prefix
from server.engine.model.prompt import build_prompt, with_reply
from server.engine.model.wire_images import WireImage
from server.engine.sampling import SamplingParams
from server.engine.sequence import Options, PendingReply


def score_answers(
    engine: Engine,
    messages: Sequence[dict[str, Any]],
    images: Sequence[WireImage],
    answers: Sequence[str],
    adapter: str = "",
    deadline_s: float | None = None,
) -> list[PendingReply]:
    """Queue each answer as the reply to `messages`. A completion's tokens are the answer's, with its end token, in the
    very tokenization that training gives them.

    Raises:
        UserError: an answer is empty, or something about the conversation is wrong.
        EngineBusyError: too many requests wait already.
    """
    asked = build_prompt(messages, images, engine.model, engine.cache, adapter)
    futures: list[PendingReply] = []
    try:
        for answer in answers:
            if not answer.strip():
                raise UserError("an answer is empty")
            whole = with_reply(asked, messages, images, engine.model, answer)
            num_scored = len(whole.token_ids) - common_prefix(asked.keys, whole.keys)
            options = Options(deadline_s=deadline_s, num_scored=num_scored)
            futures.append(engine.submit(whole, SamplingParams(temperature=0), options))
    except BaseException:
        for future in futures:
            future.cancel()
        raise
    return futures
