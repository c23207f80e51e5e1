"""OpenAI's chat reply: its header, choices, log-probabilities and token counts."""

import time
import uuid
from collections.abc import Sequence
from typing import Any

from server.engine.reply_form.token_text import token_bytes
from server.engine.reply_form.tool_calls import Call, read_calls
from server.engine.sampling import DrawnToken, SamplingParams
from server.engine.sequence import Completion
from server.protocols.openai.request import ChatRequest
from server.service import Service, Started

_LEAST_LOGPROB = -9999.0  # what OpenAI writes for a token that cannot be; JSON has no infinity


def header(service: Service, started: Started, body: ChatRequest, params: SamplingParams, kind: str) -> dict[str, Any]:
    """What every reply, and every event of a stream, begins with. Of several replies, `sampling` is the first one's."""
    version = started.weights_version
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
    text, calls = read_reply(started, body, started.text(completion.token_ids), final=True)
    message: dict[str, Any] = {"role": "assistant", "content": text, "refusal": None}
    if calls:
        listed = [{"id": _call_id(), "type": "function", "function": _function(call)} for call in calls]
        message |= {"content": text or None, "tool_calls": listed}
    return {
        "index": number,
        "message": message,
        "finish_reason": finish_reason(body, completion, calls),
        "logprobs": None,
        **tokens(started, body, completion.drawn),
    }


def read_reply(started: Started, body: ChatRequest, text: str, final: bool) -> tuple[str, list[Call]]:
    """The content and the calls of tools in what a reply has said so far."""
    if body.reply_form.tools is None:
        return text, []
    content, calls = read_calls(text, started.engine.model.tool_form, final)
    return "" if body.reply_form.tools.required else content, calls


def finish_reason(body: ChatRequest, completion: Completion, calls: Sequence[Call]) -> str:
    """As OpenAI's: where the request has named the function, a call is no news."""
    called = bool(calls) and all(call.complete for call in calls) and not body.reply_form.is_named
    return "tool_calls" if called and completion.finish_reason == "stop" else completion.finish_reason


def new_call(index: int, call: Call) -> dict[str, Any]:
    """The first piece of a streamed call."""
    return {"index": index, "id": _call_id(), "type": "function", "function": _function(call)}


def _function(call: Call) -> dict[str, str]:
    return {"name": call.name, "arguments": call.arguments}


def _call_id() -> str:
    return f"call_{uuid.uuid4().hex[:24]}"


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
    if body.tells_tokens:
        wanted["token_ids"] = [token.token_id for token in drawn]
    return wanted


def _named(started: Started, token_id: int, logprob: float) -> dict[str, Any]:
    said = token_bytes(started.engine.model.processor.tokenizer, token_id)
    return {
        "token": said.decode(errors="replace"),
        "bytes": list(said),
        "logprob": max(logprob, _LEAST_LOGPROB),
    }
