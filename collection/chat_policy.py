"""A policy behind any OpenAI-compatible endpoint: GPT-4o, the embedded teacher, vLLM, SGLang, our own server."""

from collections.abc import Sequence
from typing import Any

import openai

from collection.policy import (
    Completion,
    PolicyError,
    Retries,
    Sampling,
    TransientError,
    check_answers,
    check_url,
    given,
    http_client,
    retry_after_s,
)
from collection.prompts import system_prompt
from data.conversation import StepText, build_chat
from data.errors import UserError
from data.task import Task

MAX_CHAT_TOKENS = 1000


class ChatPolicy:
    """System prompt, whole chat messages, screenshots as data URLs."""

    def __init__(self, model: str, key: str, base_url: str, sampling: Sampling):
        if base_url:
            check_url(base_url, "--api_base")
        elif not key:
            raise UserError("no API key: set OPENAI_API_KEY or give --api_key, or --api_localhost for your own server")
        self.model, self.sampling = model, sampling
        view = "text" if sampling.text_only else "marks" if sampling.marks else "tree"
        self.system_prompt = system_prompt(view, sampling.restart)
        self._http = http_client(trust_env=True)
        self._client = openai.AsyncOpenAI(
            api_key=key or "none", base_url=base_url or None, max_retries=0, http_client=self._http
        )
        self.url = str(self._client.base_url)
        self.name = f"{model} at {self.url}"
        self._retries = Retries(self.url)

    async def check(self) -> None:
        headers = {"authorization": f"Bearer {self._client.api_key}"}
        await check_answers(self._http, self.url.rstrip("/") + "/models", headers)

    async def reply(
        self, task: Task, folder: str, steps: Sequence[StepText], screenshots: dict[int, str], seed: int | None
    ) -> Completion:
        last_n, marks = self.sampling.last_n, self.sampling.marks
        messages = build_chat(self.system_prompt, task.ques, task.web, steps, last_n, marks)
        for message in messages:
            if isinstance(message["content"], list):
                message["content"] = self._fill(message["content"], screenshots)
        request = {"model": self.model, "messages": messages, "max_tokens": MAX_CHAT_TOKENS}
        request |= given(temperature=self.sampling.temperature, seed=seed)
        return await self._retries.run(lambda: self._create(request))

    async def close(self) -> None:
        await self._client.close()

    def _fill(self, parts: list[dict[str, Any]], screenshots: dict[int, str]) -> list[dict[str, Any]]:
        """Put screenshots where `build_chat` left their step numbers, or drop them."""
        filled = []
        for part in parts:
            if "step" not in part:
                filled.append(part)
            elif not self.sampling.text_only:
                url = f"data:image/png;base64,{screenshots[part['step']]}"
                filled.append({"type": "image_url", "image_url": {"url": url}})
        return filled

    async def _create(self, request: dict[str, Any]) -> Completion:
        try:
            answer = await self._client.chat.completions.create(**request)
        except (openai.AuthenticationError, openai.PermissionDeniedError) as error:
            raise UserError(f"{self.url} refused the API key (HTTP {error.status_code})") from None
        except openai.RateLimitError as error:
            raise TransientError("rate limit", retry_after_s(error.response.headers, default=10.0)) from None
        except (openai.APIConnectionError, openai.InternalServerError) as error:
            raise TransientError(str(error.__cause__ or error) or type(error).__name__) from None
        except openai.APIStatusError as error:
            raise PolicyError(f"HTTP {error.status_code}: {error.message[:200]}") from None
        usage = answer.usage
        return Completion(
            text=answer.choices[0].message.content or "",
            prompt_tokens=usage.prompt_tokens if usage else 0,
            completion_tokens=usage.completion_tokens if usage else 0,
            weights_version=answer.system_fingerprint or "",
        )
