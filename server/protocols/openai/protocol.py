"""The OpenAI chat protocol: `POST /v1/chat/completions` with images by data URL, `GET /v1/models`, `/v1/models/NAME`.

Nothing differs from OpenAI's silently: what is not served is refused by name (`openai_neutral.py`).
"""

import dataclasses
from typing import Any

import fastapi
from fastapi.responses import JSONResponse

from server.engine.engine import Engine
from server.engine.model.prompt import Prompt, build_prompt, check_size
from server.engine.model.wire_images import from_data_urls
from server.engine.reply_form.grammar import Constraint
from server.engine.reply_form.tool_form import described
from server.engine.sampling import LEAST_TOP_P
from server.protocols.openai.messages import read_messages, with_system
from server.protocols.openai.reply import choice, header, usage
from server.protocols.openai.request import ChatRequest
from server.protocols.openai.stream import start_stream
from server.service import GenerationRequest, Service


def openai_routes(service: Service) -> fastapi.APIRouter:
    """The routes under `/v1`."""
    router = fastapi.APIRouter(prefix="/v1")

    @router.get("/models")
    async def models() -> dict[str, Any]:
        return {"object": "list", "data": [_model(service, name) for name in service.model_names]}

    @router.get("/models/{name:path}")
    async def model(name: str) -> dict[str, Any]:
        service.check_model(name)
        return _model(service, name)

    @router.post("/chat/completions")
    async def chat(body: ChatRequest, request: fastapi.Request) -> fastapi.Response:
        body.check()
        service.check_model(body.model)
        wanted = _generation_request(service, body)
        if body.stream:
            return await start_stream(service, body, wanted)
        started = await service.start(wanted)
        completions = request.state.completions = await service.until_gone(request, started)
        choices = [choice(started, body, number, completion) for number, completion in enumerate(completions)]
        head = header(service, started, body, wanted.params, "chat.completion")
        return JSONResponse(head | {"choices": choices, "usage": usage(completions)})

    return router


def _model(service: Service, name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": service.loaded_at, "owned_by": "elcano"}


def _generation_request(service: Service, body: ChatRequest) -> GenerationRequest:
    def build(engine: Engine) -> Prompt:
        form = engine.model.tool_form
        messages, urls = read_messages(body.messages, form, bool(wanted_form.told))
        told = wanted_form.told if form.in_template else ()
        if wanted_form.told and not told:
            messages = with_system(messages, described(wanted_form.told))
        check_size(messages, len(urls), engine.model)
        adapter = body.model if body.model in engine.model.adapters.names else ""
        return build_prompt(messages, from_data_urls(urls), engine.model, engine.cache, adapter, told)

    def constraint(engine: Engine) -> Constraint:
        return engine.model.grammars.constraint(wanted_form.grammar(engine.model.tool_form), wanted_form.param)

    wanted_form = body.reply_form
    given = {
        "temperature": body.temperature,
        "top_p": None if body.top_p is None else max(body.top_p, LEAST_TOP_P),
        "top_k": None if body.top_k is None else max(body.top_k, 0),
        "min_new_tokens": body.min_tokens,
        "seed": body.seed,
        "max_new_tokens": body.max_completion_tokens or body.max_tokens,
    }
    params = dataclasses.replace(
        service.defaults, **{name: value for name, value in given.items() if value is not None}
    )
    session = body.prompt_cache_key or body.user or None
    return GenerationRequest(
        build,
        params,
        body.n,
        body.stops,
        session,
        body.timeout_s,
        num_top=body.top_logprobs,
        constraint=constraint if wanted_form.is_bound else None,
    )
