"""Whatever fails at admission, in building a prompt or on an image fails that request alone; the thread goes on."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from PIL import Image

from server.engine.engine import Engine, EngineConfig
from server.engine.model.prompt import Prompt
from server.engine.model.vision_language_model import LoadOptions, VisionLanguageModel
from server.engine.sampling import SamplingParams
from server.engine.sequence import Options
from server.protocols.http_api import create_app
from server.service import Service
from tests.server.helpers import png, screenshot, wait_for

LONG = SamplingParams(temperature=0, max_new_tokens=300, min_new_tokens=300)
SHORT = SamplingParams(temperature=0, max_new_tokens=4)


class Poisoned(Prompt):
    """Breaks when the engine looks for what it knows of it."""

    @property
    def keys(self) -> Any:
        raise KeyError("poisoned")


class Fragile(VisionLanguageModel):
    """Breaks at one place when it sees its text or an image of its size."""

    breaks_at = ""

    def _break(self, place: str) -> None:
        if self.breaks_at == place:
            raise ZeroDivisionError(place)

    def prompt_ids(self, messages: Any, *args: Any) -> list[int]:
        if "poison" in str(messages):
            self._break("prompt")
        return super().prompt_ids(messages, *args)

    def pixels(self, image: Image.Image) -> Any:
        if image.size == (96, 96):
            self._break("pixels")
        return super().pixels(image)

    def forward(self, token_ids: Any, *args: Any) -> Any:
        if "☠" in self.decode_text(token_ids):
            self._break("step")
        return super().forward(token_ids, *args)

    def encode_image(self, pixels: Any) -> Any:
        features = super().encode_image(pixels)
        if pixels["pixel_values"].shape[-1] == pixels["pixel_values"].shape[-2]:
            self._break("encoding")
            return features[:-1] if self.breaks_at == "features" else features
        return features


@pytest.fixture(scope="module")
def model(tiny_policy: Path) -> Fragile:
    return Fragile(tiny_policy, LoadOptions(device="cpu"))


@pytest.mark.parametrize("is_prefetch", [False, True])
def test_an_admission_that_fails_costs_nobody_else(model: Fragile, is_prefetch: bool) -> None:
    engine = Engine(model, EngineConfig(max_batch_size=3))
    started = threading.Event()
    running = engine.submit(Prompt([6] * 20), LONG, Options(session="a", on_token=lambda _: started.set()))
    started.wait(60)
    if is_prefetch:
        engine.read_ahead(Poisoned([6] * 10), "b")
    else:
        poisoned = [engine.submit(Poisoned([6] * 10), SHORT) for _ in range(3)]
    behind = engine.submit(Prompt([7] * 10), SHORT)
    if not is_prefetch:
        for one in poisoned:
            with pytest.raises(KeyError, match="poisoned"):
                one.result(60)
    assert len(behind.result(60).token_ids) == 4 and len(running.result(60).token_ids) == 300
    wait_for(lambda: engine.idle)
    assert engine.alive and engine.memory.slots.held_bytes == 0 and engine.memory.pinned == 0
    engine.stop()


@pytest.mark.parametrize("place", ["prompt", "pixels", "encoding", "features", "step"])
def test_what_breaks_on_a_request_breaks_that_request(model: Fragile, place: str) -> None:
    """Over HTTP, beside an honest request that is under way: a 500 in OpenAI's form, and everything else goes on."""
    engine = Engine(model, EngineConfig(max_batch_size=3))
    service = Service(engine, SamplingParams(temperature=0, min_new_tokens=100), "policy")

    def ask(client: TestClient, text: str, size: tuple[int, int], num_tokens: int) -> Any:
        url = f"data:image/png;base64,{png(screenshot(1, size))}"
        content = [{"type": "image_url", "image_url": {"url": url}}, {"type": "text", "text": text}]
        body = {"messages": [{"role": "user", "content": content}], "max_tokens": num_tokens}
        return client.post("/v1/chat/completions", json=body)

    with (
        TestClient(create_app(service, on_ready=lambda: None), raise_server_exceptions=False) as client,
        ThreadPoolExecutor() as pool,
    ):
        expected = ask(client, "go", (128, 96), 100).json()["choices"]
        model.breaks_at = place
        under_way = pool.submit(ask, client, "go", (128, 96), 100)
        broken = [pool.submit(ask, client, "poison ☠", (96, 96), 5) for _ in range(4)]
        for one in broken:
            assert one.result(60).status_code == 500
            assert set(one.result().json()["error"]) == {"message", "type", "param", "code"}
        assert under_way.result(60).json()["choices"] == expected
        model.breaks_at = ""
        assert ask(client, "poison", (96, 96), 5).status_code == 200
        assert client.get("/health").status_code == 200
