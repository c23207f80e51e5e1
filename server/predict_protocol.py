"""The protocol of OpenWebVoyager's own client: `POST /predict`."""

import dataclasses
from typing import Any, Literal

import fastapi
from pydantic import BaseModel, Field

from server.prompt import Prompt, build_prompt, split_marks
from server.service import Service
from server.wire_images import from_predict


class Turn(BaseModel):
    """`content` holds one `<image>` per screenshot."""

    role: Literal["system", "user", "assistant"]
    content: str


class PredictRequest(BaseModel):
    """`images` is a list of base64 PNG, JPEG or WebP files, or an old client's base64 pickle of PIL images."""

    id: str = ""
    conversations: list[Turn] = Field(min_length=1)
    images: list[str] | str = []
    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    max_new_tokens: int | None = None
    return_tokens: bool = False


def predict_route(service: Service) -> fastapi.APIRouter:
    """The route `/predict`."""
    router = fastapi.APIRouter()

    @router.post("/predict")
    async def predict(body: PredictRequest, request: fastapi.Request) -> dict[str, Any]:
        fields = ("temperature", "top_p", "seed", "max_new_tokens")
        given = {name: getattr(body, name) for name in fields if getattr(body, name) is not None}
        params = dataclasses.replace(service.defaults, **given)
        completion = await service.complete(request, lambda: _prompt(service, body), params)
        reply = {
            "text": service.engine.model.decode_text(completion.token_ids),
            "prompt_tokens": completion.prompt_tokens,
            "completion_tokens": len(completion.token_ids),
            "weights_version": service.engine.model.weights_version,
        }
        if body.return_tokens:
            reply |= {"token_ids": completion.token_ids, "logprobs": completion.logprobs}
        return reply

    return router


def _prompt(service: Service, body: PredictRequest) -> Prompt:
    messages = [{"role": turn.role, "content": split_marks(turn.content)} for turn in body.conversations]
    return build_prompt(messages, from_predict(body.images), service.engine.model, service.engine.cache)
