"""Images are counted before any is decoded, and each distinct one is decoded once, however often it is shown."""

import base64
import io
import pickle
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from common.errors import UserError
from server.engine.engine import Engine, EngineConfig
from server.engine.model.prompt import build_prompt
from server.engine.model.vision_language_model import LoadOptions, VisionLanguageModel
from server.engine.model.wire_images import WireImage, from_data_urls, from_predict
from server.engine.sampling import SamplingParams
from server.protocols.score import score_answers
from tests.server.helpers import RunningServer, png, screenshot

NUM = 30
LARGE = Image.new("RGB", (3000, 2000), "white")  # 18 MB of pixels
BROKEN = "%%%"  # whoever decodes it says so


class Watched(VisionLanguageModel):
    """Counts what is made of images."""

    num_pixels = num_encoded = 0

    def pixels(self, image: Image.Image) -> Any:
        self.num_pixels += 1
        return super().pixels(image)

    def encode_image(self, pixels: Any) -> Any:
        self.num_encoded += 1
        return super().encode_image(pixels)


@pytest.fixture
def model(tiny_policy: Path) -> Watched:
    return Watched(tiny_policy, LoadOptions(device="cpu"))


def messages(num_images: int) -> list[dict[str, Any]]:
    return [{"role": "user", "content": [{"type": "image"}] * num_images + [{"type": "text", "text": "go"}]}]


def pickled(images: Sequence[Image.Image]) -> str:
    return base64.b64encode(pickle.dumps(images)).decode()


def other_base64(text: str) -> str:
    """The same bytes, differently spelled: the last character's unused bits."""
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    body, padding = text.rstrip("="), "=" * text.count("=")
    return body[:-1] + alphabet[alphabet.index(body[-1]) + 1] + padding


def one_picture_many_times() -> dict[str, Callable[[], list[WireImage]]]:
    """Requests that show it thirty times, and how each is read."""
    encoded, jpeg = png(LARGE), base64.b64decode(png(LARGE, "JPEG"))
    padded = base64.b64encode(jpeg + b"\0" * (2 - len(jpeg) % 3)).decode()  # ends with one "="
    urls = [f"data:image/{kind};base64,{encoded}" for kind in ("png", "webp", "x")]
    same, equal = pickled([LARGE] * NUM), pickled([LARGE.copy() for _ in range(3)])
    return {
        "one text": lambda: from_predict([encoded] * NUM),
        "other texts, same bytes": lambda: from_data_urls(urls * (NUM // 3)),
        "other base64, same bytes": lambda: from_predict([padded, other_base64(padded)] * (NUM // 2)),
        "one object in a pickle": lambda: from_predict(same),
        "equal objects in a pickle": lambda: from_predict(equal) * (NUM // 3),
    }


def peak_mb() -> float:
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


def test_thirty_references_to_one_picture_are_decoded_once(model: Watched) -> None:
    """In time and in memory; the vision tower sees it once, too, even where there is no room to keep its features."""
    for name, read in one_picture_many_times().items():
        engine = Engine(model, EngineConfig())
        engine.memory.keep_features = lambda key, features: None
        model.num_pixels = model.num_encoded = 0
        Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
        before = peak_mb()
        images = read()
        prompt = build_prompt(messages(NUM), images, model, engine.cache)
        assert peak_mb() - before < 250, name  # thirty decoded pictures are 540 MB
        engine.submit(prompt, SamplingParams(temperature=0, max_new_tokens=1)).result(60)
        assert (model.num_pixels, model.num_encoded) == (1, 1), name
        engine.stop()


def test_answers_that_are_scored_share_their_images(model: Watched) -> None:
    engine = Engine(model, EngineConfig())
    images = from_predict([png(screenshot(seed)) for seed in range(3)])
    answers = [f"Click [{number}]" for number in range(20)]
    scored = [future.result(60) for future in score_answers(engine, messages(3), images, answers)]
    assert len(scored) == 20 and model.num_pixels == model.num_encoded == 3
    engine.stop()


@pytest.mark.parametrize("path", ["/predict", "/score"])
def test_predict_counts_before_it_decodes(server: RunningServer, path: str) -> None:
    def refused(content: str, images: Any) -> str:
        body = {"conversations": [{"role": "user", "content": content}], "images": images, "answers": ["a"]}
        status, answer = server.post(path, body)
        assert status == 400
        return answer["error"]["message"]

    assert "1 <image> marks but 2 images" in refused("<image>", [BROKEN] * 2)
    assert "send at most 64" in refused("<image>" * 65, [BROKEN] * 65)
    assert "characters; the model reads" in refused("<image>" + "x" * 1_200_000, [BROKEN])
    assert "image 1: not valid base64" in refused("<image><image>", [BROKEN] * 2)
    assert "2 images came with it" in refused("<image>", pickled([Image.new("RGB", (4, 4))] * 2))


def test_chat_counts_before_it_decodes(server: RunningServer) -> None:
    part = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{BROKEN}"}}
    for parts, message in (
        ([part] * 65, "send at most 64"),
        ([part, {"type": "text", "text": "x" * 1_200_000}], "characters; the model reads"),
        ([part], "not valid base64"),
    ):
        status, answer = server.post("/v1/chat/completions", {"messages": [{"role": "user", "content": parts}]})
        assert status == 400 and message in answer["error"]["message"]


def test_a_pickle_of_many_references_is_refused_before_they_become_a_list() -> None:
    buffer = io.BytesIO()
    pickle.dump([Image.new("RGB", (4, 4))], buffer, protocol=2)
    content = buffer.getvalue()[:-1]  # without its end
    with pytest.raises(UserError, match="more than 1000000 steps"):
        from_predict(base64.b64encode(content + b"0h\x00" * 1_000_000 + b".").decode())
