"""A policy behind OpenWebVoyager's `/predict`: the fine-tuned model's own conversation form, images as base64 PNGs.

Several servers share the load: every step of a trajectory goes to the same one, which still holds what it read before,
and only when that one fails to the next.
"""

import itertools
import zlib
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import urljoin

import httpx
import orjson

from collection.agent.policy import (
    Completion,
    PolicyError,
    Retries,
    Sampling,
    check_answers,
    check_url,
    checked,
    http_client,
    refused_key,
    said_sampling,
    trained_conversation,
)
from collection.endpoints.keys import own_server_headers
from common.errors import UserError
from common.network.retry import TransientError, retry_after_s
from common.shown.terminal import in_short
from data.action_spaces import action_space
from data.conversation import StepText
from data.task import Task

_MOST_TOKENS = 4096  # of a reply whose length is left to the server
_NO_SUCH_ADDRESS = (404, 405, 501)  # what web servers say to a POST that they have no use for


class PredictPolicy:
    """Conversations as released models were trained on, no system prompt.

    The log-probabilities that are kept are of the distribution that the server sampled (`sampling_logprobs`), not the
    model's own."""

    def __init__(self, urls: Sequence[str], sampling: Sampling):
        for url in urls:
            check_url(url, "--api_localhost")
        self.urls, self.sampling, self.name = urls, sampling, ", ".join(urls)
        self.system_prompt = action_space(sampling.action_space).prompt()
        self._max_tokens = sampling.max_new_tokens or _MOST_TOKENS
        self._client = http_client(self._max_tokens, trust_env=False, headers=own_server_headers())
        self._retries = Retries(self.name)

    async def check(self) -> None:
        for url in self.urls:
            await check_answers(self._client, url)

    async def reply(
        self, task: Task, folder: str, steps: Sequence[StepText], screenshots: dict[int, str], seed: int | None
    ) -> Completion:
        conversation = trained_conversation(task, steps, self.sampling)
        turns = [{"role": turn.role, "content": turn.text} for turn in conversation.turns]
        images = [screenshots[step] for step in conversation.image_steps]
        return await self.answer(folder, {"id": folder, "conversations": turns, "images": images}, seed, task.web)

    async def answer(self, home: str, request: dict[str, Any], seed: int | None, web: str = "") -> Completion:
        """The reply to a request of `/predict` about pages of `web`; the same `home` leads to the same server."""
        asked = self.sampling.asked(seed)
        body = orjson.dumps({**request, **asked, "return_tokens": True})
        urls = self._urls_for(home)
        return await self._retries.run(lambda: self._post(next(urls), body, asked), web)

    async def weights_version(self) -> str:
        """Of what the servers hold; "" where they do not say. `UserError` where they hold different weights."""
        found = await self.weights_versions()
        if len(found) > 1:
            raise UserError(f"{self.name}: these servers hold different weights ({', '.join(sorted(found))})")
        return found.pop()

    async def weights_versions(self) -> set[str]:
        """What each of the servers holds, "" for one that does not say."""
        found = set()
        for url in self.urls:
            try:
                found.add(str((await self._client.get(urljoin(url, "health"))).json()["weights_version"]))
            except (httpx.HTTPError, ValueError, KeyError, TypeError):
                found.add("")
        return found

    async def close(self) -> None:
        await self._client.aclose()

    def _urls_for(self, folder: str) -> Iterator[str]:
        """The trajectory's own server, then the others in turn."""
        home = zlib.crc32(folder.encode()) % len(self.urls)
        return itertools.cycle([*self.urls[home:], *self.urls[:home]])

    async def _post(self, url: str, body: bytes, asked: dict[str, float]) -> Completion:
        try:
            answer = await self._client.post(url, content=body, headers={"content-type": "application/json"})
        except httpx.HTTPError as error:
            raise TransientError(str(error) or type(error).__name__) from None
        if answer.status_code in _NO_SUCH_ADDRESS:
            raise UserError(_no_policy(url, f"HTTP {answer.status_code}"))
        if answer.status_code == 429 or answer.status_code >= 500:
            pause_s = retry_after_s(answer.headers)
            raise TransientError(f"HTTP {answer.status_code}: {in_short(answer.text)}", pause_s)
        if answer.status_code in (401, 403):
            raise UserError(refused_key(url, answer.status_code))
        if answer.status_code != 200:
            raise PolicyError(f"HTTP {answer.status_code}: {in_short(answer.text)}")
        try:
            fields = answer.json()
        except ValueError as error:
            if answer.text.lstrip().startswith("<"):
                raise UserError(_no_policy(url, f"a web page: {in_short(answer.text)}")) from None
            raise PolicyError(
                f"the server's answer is not JSON ({in_short(str(error))}): {in_short(answer.text)}"
            ) from None
        if not isinstance(fields, dict) or "text" not in fields:
            raise PolicyError(f"no reply in the server's answer: {in_short(answer.text)}")
        completion = Completion(
            text=fields["text"],
            prompt_tokens=fields.get("prompt_tokens", 0),
            completion_tokens=fields.get("completion_tokens", 0),
            weights_version=fields.get("weights_version", ""),
            token_ids=fields.get("token_ids"),
            logprobs=fields.get("sampling_logprobs"),
            sampling={**asked, **said_sampling(fields.get("sampling"))},
        )
        return checked(completion, self._max_tokens)


def _no_policy(url: str, found: str) -> str:
    return f"{url} is no policy's address ({found}); a server of ours answers at /predict"
