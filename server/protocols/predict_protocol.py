"""The protocol of OpenWebVoyager's own client, `POST /predict`, and `POST /score` for the same conversations."""

import dataclasses
from typing import Any, Literal

import fastapi
from pydantic import Field

from common.errors import UserError
from data.conversation import IMAGE, split_marks
from server.deadline import TimeoutS
from server.engine.engine import Engine
from server.engine.model.prompt import MAX_IMAGES, Prompt, build_prompt, check_size
from server.engine.model.wire_images import WireImage, from_predict
from server.engine.sampling import SamplingParams
from server.engine.sequence import PendingReply
from server.protocols.bounded import Bounded, Items
from server.protocols.score import score_answers
from server.service import GenerationRequest, Service


class Turn(Bounded):
    """`content` holds one `<image>` per screenshot."""

    role: Literal["system", "user", "assistant"]
    content: str


class Conversation(Bounded):
    """`images` is a list of base64 PNG, JPEG or WebP files, or an old client's base64 pickle of PIL images."""

    id: str = Field("", max_length=1024)
    conversations: Items[Turn] = Field(min_length=1)
    images: Items[str] | str = Field(default_factory=list)
    adapter: str = ""
    timeout_s: TimeoutS | None = None


class PredictRequest(Conversation):
    """`id` names the episode: the server keeps what it read for it.

    With `return_tokens` the reply's `token_ids` come, with the model's own `logprobs`, and with `sampling_logprobs`, of
    the distributions that the tokens were drawn from: after temperature, top-k, top-p and what was forbidden.
    """

    temperature: float | None = None
    top_k: int | None = None
    top_p: float | None = None
    seed: int | None = None
    max_new_tokens: int | None = None
    min_new_tokens: int | None = None
    return_tokens: bool = False


class ScoreRequest(Conversation):
    """Answers whose log-probabilities are asked for, each as the reply to the conversation."""

    answers: list[str] = Field(min_length=1, max_length=64)


def predict_routes(service: Service) -> fastapi.APIRouter:
    """The routes `/predict` and `/score`."""
    router = fastapi.APIRouter()

    @router.post("/predict")
    async def predict(body: PredictRequest, request: fastapi.Request) -> dict[str, Any]:
        images: list[WireImage] = []

        def build(engine: Engine) -> Prompt:
            messages = _messages(body)
            images[:] = from_predict(body.images, lambda number: check_size(messages, number, engine.model))
            return build_prompt(messages, images, engine.model, engine.cache, body.adapter)

        wanted = GenerationRequest(build, _params(service, body), session=body.id or None, timeout_s=body.timeout_s)
        started = await service.start(wanted)
        [completion] = request.state.completions = await service.until_gone(request, started)
        text = started.text(completion.token_ids)
        if body.id:
            turns = [(turn.role, turn.content) for turn in body.conversations]
            service.expect_next(started.engine, body.id, turns, images, text, body.adapter)
        answer = {
            "text": text,
            "prompt_tokens": completion.prompt_tokens,
            "completion_tokens": len(completion.token_ids),
            "weights_version": completion.weights_version,
            "sampling": wanted.params.used(),
        }
        if body.return_tokens:
            answer |= {
                "token_ids": completion.token_ids,
                "logprobs": completion.logprobs,
                "sampling_logprobs": [token.sampling_logprob for token in completion.drawn],
            }
        return answer

    @router.post("/score")
    async def score(body: ScoreRequest, request: fastapi.Request) -> dict[str, Any]:
        timeout_s = service.allowed_s(body.timeout_s)

        def submit(engine: Engine) -> list[PendingReply]:
            messages = _messages(body)
            images = from_predict(body.images, lambda number: check_size(messages, number, engine.model))
            return score_answers(engine, messages, images, body.answers, body.adapter, timeout_s)

        started = await service.begin(submit, timeout_s)
        completions = request.state.completions = await service.until_gone(request, started)
        return {
            "weights_version": completions[0].weights_version,
            "prompt_tokens": completions[0].prompt_tokens,
            "scores": [
                {"logprob": sum(one.logprobs), "token_ids": one.token_ids, "logprobs": one.logprobs}
                for one in completions
            ],
        }

    return router


def _params(service: Service, body: PredictRequest) -> SamplingParams:
    fields = ("temperature", "top_k", "top_p", "seed", "max_new_tokens", "min_new_tokens")
    given = {name: getattr(body, name) for name in fields if getattr(body, name) is not None}
    return dataclasses.replace(service.defaults, **given)


def _messages(body: Conversation) -> list[dict[str, Any]]:
    num_marks = sum(turn.content.count(IMAGE) for turn in body.conversations)
    if num_marks > MAX_IMAGES:  # before each of them becomes a part of its own
        raise UserError(f"{num_marks} images are too many; send at most {MAX_IMAGES}")
    return [{"role": turn.role, "content": split_marks(turn.content)} for turn in body.conversations]
