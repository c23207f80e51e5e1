"""`POST /predict` and `GET /health` before Auto-UI, as the engine's server answers them."""

import asyncio
import threading
from typing import Any

import fastapi
import torch

from common.errors import UserError
from data.conversation import IMAGE
from server.autoui.model import AutoUI
from server.engine.model.wire_images import from_predict
from server.protocols.errors import KINDS, refusal
from server.protocols.predict_protocol import PredictRequest

_END = "</s>"  # DigiRL's prompts end so, and the tokenizer adds another


def create_app(model: AutoUI, name: str, temperature: float, max_new_tokens: int) -> fastapi.FastAPI:
    """The application; `name` is told as the weights' version."""
    app, one_at_a_time = fastapi.FastAPI(title="Auto-UI"), threading.Lock()

    @app.post("/predict")
    async def predict(body: PredictRequest) -> dict[str, Any]:
        sampling = _sampling(body, temperature, max_new_tokens)

        def answer() -> tuple[str, int, int]:
            prompt, [image] = _prompt(body), from_predict(body.images, _check_one)
            with one_at_a_time:
                torch.manual_seed(body.seed or 0)
                return model.reply(prompt, image.load(), **sampling)

        text, num_read, num_said = await asyncio.to_thread(answer)
        return {
            "text": text,
            "prompt_tokens": num_read,
            "completion_tokens": num_said,
            "weights_version": name,
            "sampling": {"temperature": sampling.get("temperature", 0), "max_new_tokens": sampling["max_new_tokens"]},
        }

    @app.get("/health")
    def health() -> dict[str, str]:
        return {"status": "ok", "weights_version": name}

    app.add_exception_handler(UserError, lambda _, error: refusal(error, KINDS[UserError]))
    return app


def _prompt(body: PredictRequest) -> str:
    """The only turn without its mark of the screenshot."""
    if len(body.conversations) != 1 or body.conversations[0].content.count(IMAGE) != 1:
        raise UserError("Auto-UI reads one turn with one <image>; collect with --action_space autoui")
    return body.conversations[0].content.replace(IMAGE, "").strip() + _END


def _check_one(number: int) -> None:
    if number != 1:
        raise UserError(f"Auto-UI sees one screenshot, not {number}")


def _sampling(body: PredictRequest, temperature: float, max_new_tokens: int) -> dict[str, Any]:
    """As arguments of transformers' `generate`."""
    wanted = temperature if body.temperature is None else body.temperature
    drawn = {"do_sample": True, "temperature": wanted, "top_k": 0 if body.top_k is None else body.top_k}
    drawn |= {"top_p": 1.0 if body.top_p is None else body.top_p}
    return {**(drawn if wanted else {"do_sample": False}), "max_new_tokens": body.max_new_tokens or max_new_tokens}
