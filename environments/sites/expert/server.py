"""The embedded teacher behind the OpenAI protocol: python environments/sites/expert/server.py --port 7090

It answers POST /v1/chat/completions and GET /v1/models, for tasks on the embedded websites only.
"""

import dataclasses
import time
from typing import Any

import uvicorn
from fastapi import FastAPI
from fastapi.responses import JSONResponse

from common import cli
from common.processes import listen
from environments.sites.expert.expert import reply
from environments.sites.expert.reading import NotUnderstoodError

MODEL = "teacher"


@dataclasses.dataclass(frozen=True)
class Config:
    """Serve the embedded teacher."""

    host: str = "127.0.0.1"
    """Address to listen on."""
    port: int = 7090
    """Port to listen on; 0 picks a free one."""


def create_app() -> FastAPI:
    app = FastAPI()

    @app.get("/v1/models")
    def models() -> dict[str, Any]:
        return {"object": "list", "data": [{"id": MODEL, "object": "model", "created": 0, "owned_by": "elcano"}]}

    @app.post("/v1/chat/completions")
    def complete(request: dict[str, Any]) -> Any:
        try:
            text = reply(request["messages"])
        except (NotUnderstoodError, KeyError, IndexError, TypeError) as error:
            message = str(error) if isinstance(error, NotUnderstoodError) else "not an OpenAI chat request"
            return JSONResponse({"error": {"message": message, "type": "invalid_request_error"}}, status_code=400)
        return _completion(text, request["messages"])

    return app


def _completion(text: str, messages: list[dict[str, Any]]) -> dict[str, Any]:
    """The reply as OpenAI shapes it; tokens are counted as words."""
    prompt_tokens, completion_tokens = len(str(messages).split()), len(text.split())
    usage = {
        "prompt_tokens": prompt_tokens,
        "completion_tokens": completion_tokens,
        "total_tokens": prompt_tokens + completion_tokens,
    }
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    return {
        "id": "chatcmpl-teacher",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": MODEL,
        "choices": [choice],
        "usage": usage,
    }


def main(config: Config) -> None:
    """Serve until stopped."""
    listener = listen(config.port, config.host)
    print(f"teacher on http://{config.host}:{listener.getsockname()[1]}/v1", flush=True)
    uvicorn.Server(uvicorn.Config(create_app(), log_level="warning", access_log=False)).run(sockets=[listener])


if __name__ == "__main__":
    cli.run(Config, main, description=__doc__)
