"""A policy behind any OpenAI-compatible endpoint: GPT-4o, the embedded teacher, vLLM, SGLang, our own server."""

import json
import sys
from collections.abc import Sequence
from typing import Any

import openai

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
from collection.endpoints.chat_dialect import ChatDialect, leads_away, no_endpoint
from collection.endpoints.keys import minds_proxies
from common.errors import UserError
from common.network.bounded_http import containers_for_tokens
from common.network.retry import TransientError, retry_after_s
from common.options.fields import fits
from common.shown.terminal import in_short
from data.action_spaces import action_space
from data.conversation import StepText, build_chat, split_marks
from data.task import Task

MAX_CHAT_TOKENS = 1000
MAX_TRAINED_TOKENS = 256  # as the published server; other engines would go on to the end of the context


class ChatPolicy:
    """Screenshots as data URLs in whole chat messages below a system prompt, or in the very turns that a policy is
    trained on; then the sampled tokens are asked for, too, which our server, vLLM and SGLang give.

    Of their log-probabilities those are kept that belong to the distribution which was sampled (`sampling_logprob`, of
    our server). Another engine's `logprob` is taken for it: vLLM has to be started with `--logprobs-mode
    processed_logprobs`, for its default is the model's own. An empty `model` is whatever our server serves.

    Prompts are turns, not token ids: the engine has the checkpoint's own chat template, as the trainer has. What an
    engine does not give is told once, with what is lost.
    """

    def __init__(self, model: str, key: str, base_url: str, sampling: Sampling):
        if base_url:
            check_url(base_url, "--api_base")
        elif not key:
            raise UserError("no API key: set OPENAI_API_KEY or give --api_key, or --api_localhost for your own server")
        if sampling.top_k is not None:
            raise UserError("--top_k: OpenAI's protocol has none; give --api_localhost, or the endpoint's own default")
        self.model, self.sampling = model, sampling
        space, view = action_space(sampling.action_space), "text" if sampling.text_only else sampling.shown
        self.system_prompt = space.prompt() if sampling.prompt == "trained" else space.prompt(view, sampling.restart)
        self._max_tokens = sampling.max_new_tokens or (
            MAX_TRAINED_TOKENS if sampling.prompt == "trained" else MAX_CHAT_TOKENS
        )
        told = containers_for_tokens(self._max_tokens if sampling.prompt == "trained" else 0)
        self._http = http_client(self._max_tokens, minds_proxies(base_url, key), max_containers=told)
        self._client = openai.AsyncOpenAI(
            api_key=key or "none",
            base_url=base_url or None,
            max_retries=0,
            http_client=self._http,  # pyright: ignore[reportArgumentType]  # openai names httpx2, and takes httpx
        )
        self.url = str(self._client.base_url)
        self.name = f"{model or 'the policy'} at {self.url}"
        self._dialect = ChatDialect(base_url)
        self._retries = Retries(self.url)
        self._is_loss_told = False

    async def check(self) -> None:
        headers = {"authorization": f"Bearer {self._client.api_key}"}
        await check_answers(self._http, self.url.rstrip("/") + "/models", headers)

    async def reply(
        self, task: Task, folder: str, steps: Sequence[StepText], screenshots: dict[int, str], seed: int | None
    ) -> Completion:
        is_trained = self.sampling.prompt == "trained"
        if is_trained:
            messages = self._trained_messages(task, steps, screenshots)
        else:
            last_n, shown = self.sampling.last_n, self.sampling.shown
            messages = build_chat(self.system_prompt, task.ques, task.web, steps, last_n, shown)
            for message in messages:
                if isinstance(message["content"], list):
                    message["content"] = self._fill(message["content"], screenshots)
        asked = {**self.sampling.asked(seed), "max_new_tokens": self._max_tokens}
        named = {"max_tokens" if name == "max_new_tokens" else name: value for name, value in asked.items()}
        request = {"model": self.model, "messages": messages, **named}
        if is_trained:
            request |= {"logprobs": True, "return_token_ids": True}
        return await self._retries.run(lambda: self._create(request, asked), task.web)

    async def close(self) -> None:
        await self._client.close()

    def _fill(self, parts: list[dict[str, Any]], screenshots: dict[int, str]) -> list[dict[str, Any]]:
        """Put screenshots where `build_chat` left their step numbers, or drop them."""
        filled = []
        for part in parts:
            if "step" not in part:
                filled.append(part)
            elif not self.sampling.text_only:
                filled.append(_image_part(screenshots[part["step"]]))
        return filled

    def _trained_messages(
        self, task: Task, steps: Sequence[StepText], screenshots: dict[int, str]
    ) -> list[dict[str, Any]]:
        """The turns of `build_conversation`; an image stands where its `<image>` was."""
        conversation = trained_conversation(task, steps, self.sampling)
        images = iter(conversation.image_steps)
        messages = []
        for turn in conversation.turns:
            parts = split_marks(turn.text)
            filled = [_image_part(screenshots[next(images)]) if part["type"] == "image" else part for part in parts]
            # parts also of a reply: SGLang hands a bare string to templates that iterate over parts
            messages.append({"role": turn.role, "content": filled})
        return messages

    async def _create(self, request: dict[str, Any], asked: dict[str, float]) -> Completion:
        try:
            answer = await self._dialect.create(self._client, request)
        except (openai.AuthenticationError, openai.PermissionDeniedError) as error:
            raise UserError(refused_key(self.url, error.status_code)) from None
        except openai.RateLimitError as error:
            raise TransientError("rate limit", retry_after_s(error.response.headers, default=10.0)) from None
        except openai.InternalServerError as error:
            pause_s = retry_after_s(error.response.headers)
            raise TransientError(f"HTTP {error.status_code}: {_said(error)}", pause_s) from None
        except openai.APIConnectionError as error:
            raise TransientError(in_short(str(error.__cause__ or error)) or type(error).__name__) from None
        except openai.NotFoundError as error:
            if error.code != "model_not_found" and error.type != "NotFoundError":  # the latter says vLLM
                raise PolicyError(f"HTTP 404: {_said(error)}") from None
            raise UserError(f"{self.url} does not know --api_model {self.model} ({_said(error)})") from None
        except openai.APIStatusError as error:
            said = no_endpoint(error.response.text) if leads_away(error.response) else _said(error)
            raise PolicyError(f"HTTP {error.status_code}: {said}") from None
        except (json.JSONDecodeError, UnicodeDecodeError) as error:
            raise TransientError(f"an answer that is cut off ({in_short(str(error))})") from None
        if isinstance(answer, str):  # what is no JSON
            raise UserError(f"{self.url} is no chat endpoint's address: {no_endpoint(answer)}")
        try:
            return self._completion(answer, request, asked)
        except (AttributeError, IndexError, TypeError):  # gateways report an engine's error with HTTP 200
            said = getattr(answer, "error", None) or answer
            raise TransientError(f"no reply in the answer: {in_short(str(said))}") from None

    def _completion(self, answer: Any, request: dict[str, Any], asked: dict[str, float]) -> Completion:
        """What an answer says; AttributeError, IndexError or TypeError where it is none of the protocol's."""
        usage, choice, sent = answer.usage, answer.choices[0], self._dialect.body(request)
        asked = {name: value for name, value in asked.items() if name in sent or name == "max_new_tokens"}
        token_ids = getattr(choice, "token_ids", None)
        token_ids = token_ids if fits(token_ids, list[int]) else None
        said = choice.logprobs.content or () if choice.logprobs else ()
        logprobs = [getattr(token, "sampling_logprob", token.logprob) for token in said]
        is_whole = token_ids and len(logprobs) == len(token_ids) and fits(logprobs, list[float])
        completion = Completion(
            text=_text_of(choice.message),
            prompt_tokens=usage.prompt_tokens if usage else 0,
            completion_tokens=usage.completion_tokens if usage else 0,
            weights_version=answer.system_fingerprint or _weights_version_of_sglang(answer),
            token_ids=token_ids,
            logprobs=logprobs if is_whole else None,
            sampling={**asked, **said_sampling(getattr(answer, "sampling", None))},
        )
        checked(completion, self._max_tokens)
        if "return_token_ids" in request:
            self._tell_loss(completion, names_sampled=all(hasattr(token, "sampling_logprob") for token in said))
        return completion

    def _tell_loss(self, completion: Completion, names_sampled: bool) -> None:
        """One line a run on the standard error where an engine gives less than training can use."""
        if self._is_loss_told:
            return
        self._is_loss_told = True
        lost = []
        if completion.token_ids is None:
            lost.append("no token ids: training tokenizes replies anew and knows no log-probabilities of them")
        elif completion.token_ids and completion.logprobs is None:
            lost.append("not one log-probability for each token: losses with importance ratios refuse the samples")
        elif not names_sampled:
            lost.append("`logprob` alone, taken for that of the distribution which was drawn from")
        if not completion.weights_version:
            lost.append("no version of its weights: samples of older weights are not told from those of newer ones")
        if lost:
            advice = "examples/serving_engines/README.md says how to start it"
            print(f"{self.url} gives {'; and '.join(lost)} ({advice})", file=sys.stderr)


def _text_of(message: Any) -> Any:
    """What the model says. Without a text of its own it may refuse, call tools or have thought till its end: "" then,
    as the protocol has it; else what stands there, which is no reply."""
    said_otherwise = [
        getattr(message, name, None) for name in ("refusal", "reasoning_content", "reasoning", "tool_calls")
    ]
    return "" if message.content is None and any(said_otherwise) else message.content


def _weights_version_of_sglang(answer: Any) -> str:
    """`--weight-version`, or what its last update of weights said."""
    metadata = getattr(answer, "metadata", None)
    return str(metadata.get("weight_version") or "") if isinstance(metadata, dict) else ""


def _said(error: openai.APIStatusError) -> str:
    """The server's own message, without what the package writes around it."""
    message = error.body.get("message") if isinstance(error.body, dict) else None
    return in_short(message if isinstance(message, str) else error.message)


def _image_part(screenshot_base64: str) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{screenshot_base64}"}}
