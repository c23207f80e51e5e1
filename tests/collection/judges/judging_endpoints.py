"""Chat endpoints that keep, refuse or ignore a `response_format`, as those of the field do."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import fastapi
from fastapi.responses import JSONResponse

from common.network.stand_in import Messages, completion, text_of
from tests.collection.endpoints import in_a_thread

Kind = Literal["schema", "object", "refuses", "unprocessable", "fails", "ignores"]


@dataclass(frozen=True)
class Said:
    """What a stand-in for a model says when nothing binds it, and the verdict it means."""

    text: str
    word: str
    reasons: str = "I looked at it."
    ended: str = "stop"


Model = Callable[[Messages, int], Said]  # of the messages, and whether it is asked again (1) or for the first time (0)


@contextmanager
def judging(kind: Kind, model: Model) -> Iterator[Any]:
    """A model behind an endpoint of a kind: `schema` keeps every format, `object` JSON objects only, `refuses` answers
    400 to any, `unprocessable` 422, `fails` 500; `ignores` takes and forgets it; `cuts` ends each reply at its limit.

    Yields the app's state: `url`, and `bodies`, the requests that came.
    """
    app = fastapi.FastAPI()
    app.state.bodies = []

    @app.post("/v1/chat/completions")
    async def complete(request: fastapi.Request) -> JSONResponse:
        body = await request.json()
        app.state.bodies.append(body)
        asked = body.get("response_format", {"type": "text"})["type"]
        if status := _refusal(kind, asked):
            return JSONResponse({"error": {"message": f"This {asked} is unavailable now"}}, status_code=status)
        said = model(body["messages"], sum(message["role"] == "assistant" for message in body["messages"]))
        text = said.text
        if asked != "text" and kind in ("schema", "object"):
            wanted = ("verdict",) if len(body["messages"]) > 2 else ("reasoning", "verdict")
            text = json.dumps({name: said.reasons if name == "reasoning" else said.word for name in wanted})
        reply = completion("judge", text, body["messages"])
        reply["choices"][0]["finish_reason"] = said.ended
        return JSONResponse(reply)

    with in_a_thread(app) as state:
        yield state


def case_of(messages: Messages) -> str:
    """The text of the case that a judge was given."""
    return text_of(messages[1])


def _refusal(kind: Kind, asked: str) -> int:
    if asked == "text" or kind in ("schema", "ignores") or (kind == "object" and asked == "json_object"):
        return 0
    return {"object": 400, "refuses": 400, "unprocessable": 422, "fails": 500}[kind]
