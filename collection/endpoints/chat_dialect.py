"""Chat dialect: how an OpenAI-compatible endpoint wants its requests, learned from what it refuses.

Newer models of OpenAI take no `max_tokens` (it is `max_completion_tokens`) and no temperature but their own; other
servers know `max_tokens` alone. The refusal names the parameter, so one refused request is all it costs.
"""

from typing import Any

import openai

from collection.endpoints.keys import is_openai, same_endpoint
from common.shown.terminal import in_short

_LIMITS = ("max_tokens", "max_completion_tokens")
_OPTIONAL = ("temperature", "seed", "top_p", "logprobs", "return_token_ids")  # who refuses one goes without it
_FORMAT = "response_format"  # who refuses this one is asked otherwise, which is not for a dialect to do
_UNKNOWN_TO_OPENAI = ("return_token_ids",)  # its package sends them as `extra_body` only


class ChatDialect:
    """Of one endpoint and model; may be shared by threads, which at worst learn the same twice."""

    def __init__(self, base_url: str):
        official = is_openai(base_url) or (not base_url and same_endpoint("", "https://api.openai.com"))
        self._limit = "max_completion_tokens" if official else "max_tokens"
        self._refused: frozenset[str] = frozenset()

    def body(self, request: dict[str, Any]) -> dict[str, Any]:
        """The request, which names its limit `max_tokens`, in this endpoint's words."""
        kept = {name: value for name, value in request.items() if name == "max_tokens" or name not in self._refused}
        if "max_tokens" in kept:
            kept[self._limit] = kept.pop("max_tokens")
        return kept

    def learn(self, error: openai.BadRequestError, sent: dict[str, Any]) -> bool:
        """Whether the refusal names something of `sent` that can be said otherwise; `body` does so from now on."""
        refused = _refused(error)
        if refused not in sent or refused == _FORMAT:
            return False
        self._refused |= {refused}
        if refused in _LIMITS:
            self._limit = _LIMITS[1 - _LIMITS.index(refused)]
            return self._limit not in self._refused
        return True

    async def create(self, client: openai.AsyncOpenAI, request: dict[str, Any]) -> Any:
        """The completion of a request that `body` translates; raises what the client raises."""
        while True:
            sent = self.body(request)
            own = {name: value for name, value in sent.items() if name not in _UNKNOWN_TO_OPENAI}
            extra = {name: value for name, value in sent.items() if name not in own}
            try:
                return await client.chat.completions.create(**own, extra_body=extra or None)
            except openai.BadRequestError as error:
                if not self.learn(error, sent):
                    raise


def no_endpoint(answer: str) -> str:
    """What to say of an answer that is no JSON."""
    if not answer.strip() or answer.lstrip().startswith("<"):
        return f"a web page answers in its place, such as a network's page to log in at ({in_short(answer) or 'empty'})"
    return f"it answers as no chat endpoint does ({in_short(answer)})"


def leads_away(answer: Any) -> bool:
    """Whether an answer of HTTP sends its client elsewhere, as networks do that want a login first."""
    return 300 <= answer.status_code < 400 or answer.status_code == 511


def _refused(error: openai.BadRequestError) -> str:
    """The parameter that the endpoint cannot do with, "" when it refuses for another reason."""
    known = (*_LIMITS, *_OPTIONAL, _FORMAT)
    if error.param and error.code in ("unsupported_parameter", "unsupported_value"):
        return error.param if error.param in known else ""
    text = str(error.message).lower()
    if not any(
        word in text for word in ("unsupported", "not supported", "does not support", "unrecognized", "unknown")
    ):
        return ""
    named = [name for name in known if name in text]
    # the first one named is the refused one; what comes later is what to use instead
    return min(named, key=text.index, default="")
