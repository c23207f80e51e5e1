"""One OpenAI-compatible endpoint that judges or proposes: retries, a deadline for each answer, cache and budget."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, TypeVar

import httpx
import openai

from collection.endpoints.chat_dialect import ChatDialect, leads_away, no_endpoint
from collection.endpoints.keys import minds_proxies
from collection.judges.endpoint.faults import JudgeFault, RefusedError, UnclearReplyError
from collection.judges.endpoint.ledger import Ledger, estimate_tokens
from collection.judges.endpoint.reply_cache import ReplyCache
from collection.judges.endpoint.reply_format import FormatName, ReplyFormat
from common.errors import UserError
from common.network.bounded_http import BoundedClient, containers_for_tokens
from common.network.retry import MAX_ATTEMPTS, TransientError, retry, retry_after_s
from common.options.fields import fits
from common.shown.terminal import in_short

Meaning = TypeVar("Meaning")

FAILURES_UNTIL_DOWN = 3  # requests in a row that failed at every attempt; then each next one gets a single attempt
MAX_ASKED = 3  # times for a reply that can be read
MAX_COMPLETION_TOKENS = 1000
_CANNOT = (HTTPStatus.INTERNAL_SERVER_ERROR, HTTPStatus.NOT_IMPLEMENTED)
_CUT = {"length", "max_tokens", "model_length", "abort", "aborted", "cancelled", "error", "timeout"}
"""How endpoints say that a reply did not come to its end: OpenAI's word, and those of vLLM, SGLang and gateways."""
KEY_NAMES = "EVAL_API_KEY or OPENAI_API_KEY"


@dataclass(frozen=True)
class Completion:
    """A reply as it came; `is_cut` where it did not come to its end."""

    text: str
    is_cut: bool = False


@dataclass(frozen=True)
class JudgeReply:
    """What the judge wrote, what it means, what the judge had been told first, and how often it was asked."""

    text: str
    meaning: Any
    system: str = ""
    num_asked: int = 1


class Endpoint:
    """Thread-safe. An answer that cannot be read counts as none: it is asked for again with another seed."""

    def __init__(
        self,
        model: str,
        key: str,
        base_url: str,
        cache: ReplyCache,
        ledger: Ledger,
        timeout_s: float = 120.0,
        reply_format: FormatName | None = None,
    ):
        self.model, self.cache, self.ledger, self.timeout_s = model, cache, ledger, timeout_s
        if base_url and not base_url.startswith(("http://", "https://")):
            raise UserError(f"the address {base_url!r} of {model} is not a URL; it looks like http://127.0.0.1:8000/v1")
        if not base_url and not key:
            raise UserError(f"{model} needs an API key: set {KEY_NAMES}, or give the base URL of another endpoint")
        http = BoundedClient(
            timeout=httpx.Timeout(timeout_s, connect=10.0),
            trust_env=minds_proxies(base_url, key),
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=None),
            max_containers=containers_for_tokens(0),
        )
        self._client = openai.OpenAI(
            api_key=key or "none",
            base_url=base_url or None,
            max_retries=0,
            http_client=http,  # pyright: ignore[reportArgumentType]  # openai names httpx2, and takes httpx
        )
        self.url = str(self._client.base_url)
        self.reply_format = ReplyFormat(self.url, model, cache, reply_format)
        self._dialect = ChatDialect(base_url)
        self._failures, self._lock = 0, threading.Lock()

    def ask(
        self,
        messages: list[dict[str, Any]],
        parse: Callable[[str], Meaning | None],
        temperature: float = 0.0,
        seed: int = 42,
        max_tokens: int = MAX_COMPLETION_TOKENS,
    ) -> JudgeReply:
        """The first of three replies that `parse` can read.

        Raises:
            UnclearReplyError: it can read none.
            JudgeFault, UserError: as `reply`.
        """
        request, said = {"messages": messages, "temperature": temperature, "max_tokens": max_tokens}, ""
        for number in range(MAX_ASKED):
            asked = {**request, "seed": seed + 1000 * number}
            reply, meaning = self.reply(asked, lambda completion: parse(completion.text))
            if meaning is not None:
                return JudgeReply(reply.text, meaning, num_asked=number + 1)
            said = reply.text
        raise UnclearReplyError(f"{self.url}: a reply that says nothing clear: {in_short(said)!r}", said)

    def reply(
        self, request: dict[str, Any], read: Callable[[Completion], Meaning | None]
    ) -> tuple[Completion, Meaning | None]:
        """A reply, and what `read` makes of it; from the cache where one was given before that could be read.

        Raises:
            JudgeFault: none came, whatever the reason: RefusedError when the endpoint takes no such request,
                BudgetSpentError when money is the reason.
            UserError: the endpoint refuses the key, or does not know the model.
        """
        request = {"model": self.model, "max_tokens": MAX_COMPLETION_TOKENS, **request}
        key = self.cache.key({"endpoint": self.url, **request})
        text = self.cache.get(key)
        if text is not None and (meaning := read(Completion(text))) is not None:
            self.ledger.count_cache_hit()
            return Completion(text), meaning
        max_attempts = MAX_ATTEMPTS if self._failures < FAILURES_UNTIL_DOWN else 1
        try:
            reply = retry(lambda: self._create(request), self.timeout_s, max_attempts)
        except TransientError as error:
            self._count(failed=True)
            kind = RefusedError if isinstance(error, _CannotError) else JudgeFault
            raise kind(f"{self.url}: {error}") from None
        self._count(failed=False)
        if (meaning := read(reply)) is not None:
            self.cache.put(key, reply.text, self.model)
        return reply, meaning

    def close(self) -> None:
        """Close connections."""
        self._client.close()

    def _create(self, request: dict[str, Any]) -> Completion:
        """One completion; the ledger knows of it whatever happens."""
        sent = self._dialect.body(request)
        prompt_tokens = estimate_tokens(request["messages"])
        reserved = self.ledger.reserve(prompt_tokens, request["max_tokens"])
        fate, used = "lost", (prompt_tokens, 0)
        try:
            answer = self._client.chat.completions.create(**sent)
            if isinstance(answer, str):  # what is no JSON
                raise TransientError(no_endpoint(answer))
            used = _tokens_of(answer) or (prompt_tokens, request["max_tokens"])
            fate = "answered"
            return _completion_of(answer)
        except (openai.AuthenticationError, openai.PermissionDeniedError) as error:
            fate, used = "refused", (0, 0)
            raise UserError(f"{self.url} refused the API key (HTTP {error.status_code})") from None
        except openai.NotFoundError as error:
            fate, used = "refused", (0, 0)
            raise UserError(f"{self.url} does not know the model {self.model!r}: {in_short(error.message)}") from None
        except openai.BadRequestError as error:
            fate, used = "refused", (0, 0)
            if not self._dialect.learn(error, sent):
                raise RefusedError(f"{self.url}: HTTP {error.status_code}: {in_short(error.message)}") from None
        except openai.RateLimitError as error:
            fate, used = "refused", (0, 0)
            if error.code == "insufficient_quota":
                raise UserError(f"{self.url}: the account of the API key has no money left") from None
            raise TransientError("rate limit", retry_after_s(error.response.headers)) from None
        except (openai.InternalServerError, openai.ConflictError) as error:
            fate, used = "refused", (0, 0)
            kind = _CannotError if error.status_code in _CANNOT else TransientError
            raise kind(f"HTTP {error.status_code}", retry_after_s(error.response.headers)) from None
        except openai.APIStatusError as error:
            fate, used = "refused", (0, 0)
            said = no_endpoint(error.response.text) if leads_away(error.response) else in_short(error.message)
            kind = RefusedError if error.status_code == HTTPStatus.UNPROCESSABLE_ENTITY else JudgeFault
            raise kind(f"{self.url}: HTTP {error.status_code}: {said}") from None
        except openai.APITimeoutError:
            raise TransientError(f"no answer within {self.timeout_s:g} s") from None
        except (openai.APIError, httpx.HTTPError, ValueError, AttributeError, TypeError) as error:
            if isinstance(error.__cause__, httpx.ConnectError):
                fate, used = "refused", (0, 0)
            raise TransientError(
                " ".join(str(error.__cause__ or error).split())[:200] or type(error).__name__
            ) from None
        finally:
            self.ledger.settle(reserved, fate, *used)
        return self._create(request)  # in the words that the endpoint has just asked for

    def _count(self, failed: bool) -> None:
        with self._lock:
            self._failures = self._failures + 1 if failed else 0


class _CannotError(TransientError):
    """A failure of the server that its request may have caused."""


def _completion_of(answer: Any) -> Completion:
    """The reply; a refusal by a content filter is final."""
    if not fits(getattr(answer, "choices", None), list[Any]) or not answer.choices:
        raise ValueError("an answer without choices")
    choice = answer.choices[0]
    if choice.finish_reason == "content_filter":
        raise JudgeFault("the endpoint's content filter refused to judge")
    if not isinstance(choice.message.content, str):
        raise ValueError(f"a reply whose content is {in_short(repr(choice.message.content))}, which is no text")
    text = choice.message.content.encode(errors="replace").decode()  # half a surrogate pair is no text to keep
    return Completion(text, is_cut=str(choice.finish_reason).lower() in _CUT)


def _tokens_of(answer: Any) -> tuple[int, int] | None:
    """Of prompt and completion, where the answer counts them."""
    counts: list[Any] = [getattr(answer.usage, name, None) for name in ("prompt_tokens", "completion_tokens")]
    return (counts[0], counts[1]) if all(fits(count, int) and count >= 0 for count in counts) else None
