"""A stand-in for vLLM and SGLang: their chat endpoints' own words, around a policy's real processor.

The prompt is what Hugging Face's chat template and processor make of the messages, in the form that each engine hands
them on; what is said is given. After vLLM's `entrypoints/openai/chat_completion/protocol.py` and SGLang's
`srt/entrypoints/openai/serving_chat.py`, both of autumn 2026, and error bodies as their issues quote them.
"""

import base64
import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import fastapi
from fastapi.responses import JSONResponse, Response
from PIL import Image

from models.processor import load_processor
from tests.collection.endpoints import in_a_thread

Dialect = Literal["vllm", "sglang", "sglang before return_token_ids"]
MODEL, VERSION, END = "policy", "step-7", "<|im_end|>"


class Engine:
    """`reply` says what is answered to the texts of the user's turns. Lists hold what came of each request: `bodies`,
    `prompts` (token ids), `drawn` (those of the replies) and `logprobs`; `faults` come first: statuses, or bodies of
    HTTP 200."""

    def __init__(self, folder: Path, dialect: Dialect, reply: Callable[[list[str]], str], max_model_len: int = 4096):
        self.dialect, self.max_model_len, self._reply = dialect, max_model_len, reply
        self._processor = load_processor(folder)
        self.bodies: list[dict[str, Any]] = []
        self.prompts: list[list[int]] = []
        self.drawn: list[list[int]] = []
        self.logprobs: list[list[float]] = []
        self.faults: list[int | str] = []

    def answer(self, body: dict[str, Any]) -> Response:
        self.bodies.append(body)
        if self.faults:
            status = self.faults.pop(0)
            if isinstance(status, str):
                return Response(status, media_type="application/json")
            return self._refuse(status, "the model is loading", "InternalServerError", {"retry-after": "0.1"})
        if self.dialect == "vllm" and body.get("model") not in (None, "", MODEL):
            return self._refuse(404, f"The model `{body['model']}` does not exist.", "NotFoundError")
        prompt = self._read(body["messages"])
        if len(prompt) + body["max_tokens"] > self.max_model_len:
            return self._refuse(400, self._too_long(len(prompt), body["max_tokens"]), "BadRequestError")
        drawn = self._draw(body["messages"])
        self.prompts.append(prompt)
        self.drawn.append(drawn)
        self.logprobs.append([-0.25 - 0.125 * (place % 5) for place in range(len(drawn))])
        return JSONResponse(self._complete(body, prompt, drawn, self.logprobs[-1]))

    def _read(self, messages: list[dict[str, Any]]) -> list[int]:
        """Token ids of the prompt. vLLM makes a bare string one part of text, SGLang leaves it as it is."""
        turns, images = [], []
        for message in messages:
            content = message["content"]
            if isinstance(content, str) and self.dialect == "vllm":
                content = [{"type": "text", "text": content}]
            parts = content if isinstance(content, str) else []
            for part in content if isinstance(content, list) else []:
                if part["type"] == "image_url":
                    encoded = part["image_url"]["url"].partition(";base64,")[2]
                    images.append(Image.open(io.BytesIO(base64.b64decode(encoded))).convert("RGB"))
                parts.append({"type": "image"} if part["type"] == "image_url" else part)
            turns.append({"role": message["role"], "content": parts})
        text = self._processor.apply_chat_template(turns, add_generation_prompt=True, tokenize=False)
        return self._processor(text=[text], images=images or None)["input_ids"][0]

    def _draw(self, messages: list[dict[str, Any]]) -> list[int]:
        turns = [message["content"] for message in messages if message["role"] == "user"]
        said = self._reply(["".join(part.get("text", "") for part in turn) for turn in turns])
        return self._processor.tokenizer(said + END, add_special_tokens=False)["input_ids"]

    def _complete(
        self, body: dict[str, Any], prompt: list[int], drawn: list[int], logprobs: list[float]
    ) -> dict[str, Any]:
        tokenizer = self._processor.tokenizer
        text = tokenizer.decode(drawn, skip_special_tokens=True)
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        if body.get("logprobs"):
            words = [tokenizer.decode([token]) for token in drawn]
            named = ({"token": word, "bytes": list(word.encode()), "top_logprobs": []} for word in words)
            choice["logprobs"] = {"content": [one | {"logprob": p} for one, p in zip(named, logprobs, strict=True)]}
        usage = {"prompt_tokens": len(prompt), "completion_tokens": len(drawn), "total_tokens": len(prompt + drawn)}
        header = {"id": "chatcmpl-1", "object": "chat.completion", "created": 0, "model": MODEL, "usage": usage}
        is_wanted = body.get("return_token_ids")
        if self.dialect == "vllm":
            choice |= {"stop_reason": None, "token_ids": drawn if is_wanted else None}
            own = {"system_fingerprint": None, "prompt_token_ids": prompt if is_wanted else None}
            return header | own | {"choices": [choice]}
        choice |= {"matched_stop": drawn[-1]}
        if is_wanted and self.dialect == "sglang":
            choice |= {"token_ids": drawn, "prompt_token_ids": prompt}
        return header | {"metadata": {"weight_version": VERSION}, "choices": [choice]}

    def _too_long(self, prompt: int, limit: int) -> str:
        if self.dialect == "vllm":
            return (
                f"This model's maximum context length is {self.max_model_len} tokens. However, you requested "
                f"{prompt + limit} tokens ({prompt} in the messages, {limit} in the completion). Please reduce the "
                "length of the messages or completion."
            )
        return f"The input ({prompt} tokens) is longer than the model's context length ({self.max_model_len} tokens)."

    def _refuse(self, status: int, message: str, kind: str, headers: dict[str, str] | None = None) -> JSONResponse:
        error = {"message": message, "type": kind, "param": None, "code": status}
        body = {"error": error} if self.dialect == "vllm" else {"object": "error", **error}
        return JSONResponse(body, status_code=status, headers=headers)


@contextmanager
def serving(engine: Engine) -> Iterator[str]:
    """Yields the base URL."""
    app = fastapi.FastAPI()

    @app.get("/v1/models")
    def models() -> dict[str, Any]:
        return {"object": "list", "data": [{"id": MODEL, "object": "model", "max_model_len": engine.max_model_len}]}

    @app.post("/v1/chat/completions")
    def complete(body: dict[str, Any]) -> Response:
        return engine.answer(body)

    with in_a_thread(app) as state:
        yield state.url
