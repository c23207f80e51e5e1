"""OpenAI's chat reply: its header, choices, log-probabilities and token counts."""

import time
import uuid
from collections.abc import Sequence
from typing import Any

from server.openai_request import ChatRequest
from server.sampling import DrawnToken, SamplingParams
from server.sequence import Completion
from server.service import Service, Started
from server.token_text import token_bytes

_LEAST_LOGPROB = -9999.0  # what OpenAI writes for a token that cannot be; JSON has no infinity


def header(service: Service, started: Started, body: ChatRequest, params: SamplingParams, kind: str) -> dict[str, Any]:
    """What every reply, and every event of a stream, begins with. Of several replies, `sampling` is the first one's."""
    version = started.engine.model.weights_version
    return {
        "id": f"chatcmpl-{uuid.uuid4().hex}",
        "object": kind,
        "created": int(time.time()),
        "model": body.model or service.model_name,
        "system_fingerprint": version,
        "weights_version": version,
        "sampling": params.used(),
    }


def usage(completions: Sequence[Completion]) -> dict[str, Any]:
    """The prompt counts once, however many replies it has."""
    prompt, reply = completions[0].prompt_tokens, sum(len(completion.token_ids) for completion in completions)
    cached = completions[0].cached_tokens
    return {
        "prompt_tokens": prompt,
        "completion_tokens": reply,
        "total_tokens": prompt + reply,
        "prompt_tokens_details": {"cached_tokens": cached},
    }


def choice(started: Started, body: ChatRequest, number: int, completion: Completion) -> dict[str, Any]:
    """One of the request's `n` replies."""
    text = started.text(completion.token_ids)
    return {
        "index": number,
        "message": {"role": "assistant", "content": text, "refusal": None},
        "finish_reason": completion.finish_reason,
        "logprobs": None,
        **tokens(started, body, completion.drawn),
    }


def tokens(started: Started, body: ChatRequest, drawn: Sequence[DrawnToken]) -> dict[str, Any]:
    """`token_ids` and `logprobs` of a choice, as far as they are wanted. `logprob` is the model's own, as OpenAI's is;
    `sampling_logprob` that of the distribution that the token was drawn from."""
    wanted: dict[str, Any] = {}
    if body.logprobs:
        content = [
            _named(started, token.token_id, token.logprob)
            | {
                "sampling_logprob": token.sampling_logprob,
                "top_logprobs": [_named(started, token_id, logprob) for token_id, logprob in token.top],
            }
            for token in drawn
        ]
        wanted["logprobs"] = {"content": content, "refusal": None}
    if body.logprobs or body.return_token_ids:
        wanted["token_ids"] = [token.token_id for token in drawn]
    return wanted


def _named(started: Started, token_id: int, logprob: float) -> dict[str, Any]:
    said = token_bytes(started.engine.model.processor.tokenizer, token_id)
    return {
        "token": said.decode(errors="replace"),
        "bytes": list(said),
        "logprob": max(logprob, _LEAST_LOGPROB),
    }
