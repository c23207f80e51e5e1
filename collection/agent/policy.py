"""The policy: what the agent says next, asked over HTTP. What `/predict` and chat endpoints have in common."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import urlsplit

import httpx

from collection.config.endpoint import Prompt
from collection.endpoints.keys import is_loopback
from common.errors import UserError
from common.network.bounded_http import BoundedAsyncClient, bytes_for_tokens
from common.network.retry import TransientError, retry_async
from common.options.fields import check_fields, fits
from data.action_spaces import NUMBERS, action_space
from data.conversation import Conversation, StepText
from data.observation import Shown
from data.sampling import SamplingRequest
from data.task import Task

CHECK_TIMEOUT_S = 10.0
REPLY_TIMEOUT_S = 300.0  # a big model on a busy server
MAX_CHARS_PER_TOKEN = 64  # on the average of a reply; the longest tokens are spaces
MAX_FAILED_REPLIES = 3  # in a row, over all sessions, each after all its retries: then the server is taken for dead


class PolicyError(Exception):
    """No reply after every retry: not the agent's fault."""


class UnansweredError(PolicyError):
    """The server failed each time; another time it may answer."""


class ServerDeadError(UserError):
    """The server answers nobody, or refuses everybody; the run cannot go on."""


class ServerSilentError(ServerDeadError):
    """It answers nobody; perhaps it is started again."""


@dataclass(frozen=True, kw_only=True)
class Sampling(SamplingRequest):
    """And what the policy is shown: `text_only` sends no screenshots, `last_n` is how many there would be.

    `shown` is what it reads of a page. `restart` is the name of the action that starts over.
    """

    last_n: int = 1
    text_only: bool = False
    shown: Shown = "tree"
    action_space: str = NUMBERS
    restart: str = "Restart"
    prompt: Prompt = "chat"


@dataclass(frozen=True)
class Completion:
    """A reply and what the server said about it; token ids are kept as given, never made again from the text.

    `logprobs` are of the distribution that each token was drawn from: after temperature, top-k, top-p and what was
    forbidden. `sampling` is what was applied, by name: as the server says, else what it was asked for.
    """

    text: str  # without halves of surrogate pairs, which a file cannot hold
    prompt_tokens: int = 0
    completion_tokens: int = 0
    weights_version: str = ""
    token_ids: list[int] | None = None
    logprobs: list[float] | None = None
    sampling: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if isinstance(self.text, str):
            object.__setattr__(self, "text", self.text.encode(errors="replace").decode())


def checked(completion: Completion, max_tokens: int) -> Completion:
    """It, if a server may say so to who asked for `max_tokens`; PolicyError for what is no reply."""
    try:
        check_fields("the server's answer", completion)
    except UserError as error:
        raise PolicyError(str(error)) from None
    if len(completion.text) > MAX_CHARS_PER_TOKEN * max_tokens:
        asked = f"{max_tokens} tokens were asked for"
        raise PolicyError(f"the server's answer has a text of {len(completion.text)} characters, though {asked}")
    return completion


def said_sampling(said: Any) -> dict[str, Any]:
    """What a server says that it applied: numbers by name."""
    return {name: value for name, value in said.items() if fits(value, float | None)} if isinstance(said, dict) else {}


class Replying(Protocol):
    """What an episode asks. `screenshots` are base64 PNGs by step number; at least those of the last `last_n` steps are
    there."""

    async def reply(
        self, task: Task, folder: str, steps: Sequence[StepText], screenshots: dict[int, str], seed: int | None
    ) -> Completion:
        """The agent's next reply."""
        ...


class Policy(Replying, Protocol):
    """Of a whole run."""

    name: str
    system_prompt: str

    async def check(self) -> None:
        """Raise UserError unless the server answers."""

    async def close(self) -> None:
        """Close connections."""


@dataclass
class Retries:
    """Try again with growing pauses; after `MAX_FAILED_REPLIES` replies in a row that failed for good, stop the run."""

    address: str
    failed: set[int | str] = field(default_factory=set, init=False)

    async def run(self, call: Callable[[], Awaitable[Completion]], web: str = "") -> Completion:
        """The result of `call`, which raises `TransientError` for what may pass. It is about pages of `web`.

        Raises:
            PolicyError: the server refuses it.
            UnansweredError: it failed every time.
            ServerDeadError: so did the replies before it.
        """
        try:
            completion = await retry_async(call, REPLY_TIMEOUT_S)
        except (TransientError, PolicyError) as error:
            self._count_failure(error, web)
            raise (UnansweredError if isinstance(error, TransientError) else PolicyError)(str(error)) from None
        self.failed.clear()
        return completion

    def _count_failure(self, error: Exception, web: str) -> None:
        """Requests that the server refuses count once for a website elsewhere: its pages may be too long to read, and
        must not end the run of all others."""
        host, is_refusal = urlsplit(web).hostname, isinstance(error, PolicyError)
        self.failed.add(host if is_refusal and host and not is_loopback(host) else len(self.failed))
        if len(self.failed) >= MAX_FAILED_REPLIES:
            fault = "refuses requests" if is_refusal else "does not answer"
            raise (ServerDeadError if is_refusal else ServerSilentError)(
                f"the model server at {self.address} {fault} ({error}); "
                "put it right and run the same command again: what is complete is kept"
            ) from None


def trained_conversation(task: Task, steps: Sequence[StepText], sampling: Sampling) -> Conversation:
    """What a policy is trained on, the same through every protocol: no system prompt, and as many `<image>` marks as
    `image_steps`."""
    space = action_space(sampling.action_space)
    return space.conversation(task.ques, steps, 0 if sampling.text_only else sampling.last_n)


def http_client(
    max_tokens: int, trust_env: bool, headers: Mapping[str, str] | None = None, max_containers: int | None = None
) -> BoundedAsyncClient:
    """A client for as many requests at once as there are sessions, whose replies have at most `max_tokens` tokens;
    `trust_env` minds the proxies in the environment."""
    limits, max_bytes = httpx.Limits(max_connections=None, max_keepalive_connections=None), bytes_for_tokens(max_tokens)
    options = {"timeout": REPLY_TIMEOUT_S, "limits": limits, "trust_env": trust_env, "headers": headers}
    return BoundedAsyncClient(max_bytes=max_bytes, max_containers=max_containers, **options)


def check_url(url: str, flag: str) -> None:
    """Raise UserError for what cannot be asked."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise UserError(f"{flag} {url!r} is not a URL; it looks like http://127.0.0.1:8080/predict")


async def check_answers(client: httpx.AsyncClient, url: str, headers: dict[str, str] | None = None) -> None:
    """Raise UserError unless something answers; any HTTP answer will do, except one that refuses the key."""
    try:
        answer = await client.get(url, headers=headers, timeout=CHECK_TIMEOUT_S)
    except httpx.HTTPError as error:
        raise ServerSilentError(
            f"nothing answers at {url} ({error or type(error).__name__}); start the server first"
        ) from None
    if answer.status_code in (401, 403):
        raise UserError(refused_key(url, answer.status_code))


def refused_key(url: str, status: int) -> str:
    """What to do about a key that a server does not take."""
    return (
        f"{url} refused the API key (HTTP {status}); an Elcano server's is ELCANO_API_KEY, another endpoint's --api_key"
    )
