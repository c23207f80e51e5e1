"""Every model type the server takes gives what `generate` gives, and released checkpoints keep their own ways."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from PIL import Image

from data.checkpoint_folder import fingerprint
from data.conversation import split_marks
from server.engine.engine import Engine, EngineConfig
from server.engine.model.prompt import build_prompt
from server.engine.model.vision_language_model import LoadOptions, VisionLanguageModel
from server.engine.model.wire_images import from_predict
from server.engine.sampling import SamplingParams
from tests import tiny
from tests.server.helpers import observation, png, screenshot
from tests.tiny import idefics3, llava, qwen2_5_vl, qwen3_vl
from tests.tiny.random_policy import FAMILIES, build_random_policy

DECISIVE: dict[str, Callable[[Path], Path]] = {
    "llava": lambda folder: llava.build_decisive_policy(folder, is_next=False),
    "llava_next": lambda folder: llava.build_decisive_policy(folder, is_next=True),
    "idefics3": lambda folder: idefics3.build_policy(folder, layers=2, initializer_range=0.1),
    "qwen2_5_vl": lambda folder: qwen2_5_vl.build_policy(folder, layers=2, initializer_range=0.1),
    "qwen3_vl": lambda folder: qwen3_vl.build_policy(folder, layers=4, initializer_range=0.1),
    "smolvlm": lambda folder: idefics3.build_policy(folder, "smolvlm", layers=2, initializer_range=0.1),
}
"""Weights so wide that no rounding changes a greedy reply."""


@pytest.mark.parametrize("name", DECISIVE)
def test_it_equals_generate(tmp_path: Path, name: str) -> None:
    """Two images of different shapes, which in most families have different numbers of image tokens."""
    check_generate(DECISIVE[name](tmp_path), [screenshot(1), screenshot(2, size=(120, 200))])


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 5))])
@pytest.mark.parametrize("name", FAMILIES)
def test_random_sizes_equal_generate(tmp_path: Path, name: str, seed: int) -> None:
    """None to three images of odd sizes. Slow: `bash tests/run.sh --slow tests/server/models/test_model_families.py`"""
    folder = build_random_policy(tmp_path, name, seed, initializer_range=0.1)
    sizes = [(33, 50), (121, 47), (64, 301)]
    check_generate(folder, [screenshot(n, size=size) for n, size in enumerate(sizes[: (seed + 2) % 4])])


def check_generate(folder: Path, images: list[Image.Image]) -> None:
    """A greedy reply to a turn with these images is transformers' own."""
    model = VisionLanguageModel(folder, LoadOptions(device="cpu"))
    said = observation(0, 5) + "".join(f"<image>{observation(n, 5)}" for n in range(len(images)))
    messages = [{"role": "user", "content": split_marks(said)}]

    text = model.processor.apply_chat_template(messages, add_generation_prompt=True).rstrip(" ")
    inputs = model.processor(text=[text], images=images or None, return_tensors="pt")
    expected = model.hf_model.generate(**inputs, do_sample=False, max_new_tokens=16, eos_token_id=model.eos_ids)

    engine = Engine(model, EngineConfig(max_batch_size=2, max_queue=8))
    prompt = build_prompt(messages, from_predict([png(image) for image in images]), model, engine.cache)
    params = SamplingParams(temperature=0, max_new_tokens=16, min_new_tokens=0)
    completion = engine.submit(prompt, params).result(60)
    engine.stop()
    assert completion.prompt_tokens == inputs["input_ids"].shape[1]
    assert completion.token_ids == expected[0, completion.prompt_tokens :].tolist()


def test_a_sampled_mark_of_an_image_keeps_its_text_embedding(tmp_path: Path) -> None:
    """Two replies say nothing but marks; the one's are computed beside the other's images."""
    model = VisionLanguageModel(DECISIVE["qwen3_vl"](tmp_path), LoadOptions(device="cpu"))
    others = [token for token in range(model.images.vocab_size) if token != model.image_token_id]
    model.banned_ids = others
    engine = Engine(model, EngineConfig(max_batch_size=2, max_queue=8, prefill_chunk=8))
    asked = []
    for seed, size in ((1, (64, 48)), (2, (80, 120))):
        messages = [{"role": "user", "content": split_marks(f"<image>{observation(seed, 2 * seed)}")}]
        picture = screenshot(seed, size=size)
        prompt = build_prompt(messages, from_predict([png(picture)]), model, engine.cache)
        params = SamplingParams(temperature=0, max_new_tokens=24, min_new_tokens=0)
        text = model.processor.apply_chat_template(messages, add_generation_prompt=True)
        asked.append(
            (engine.submit(prompt, params), model.processor(text=[text], images=[picture], return_tensors="pt"))
        )
    for future, inputs in asked:
        reply, options = future.result(60), {"return_dict_in_generate": True, "output_logits": True}
        expected = model.hf_model.generate(**inputs, max_new_tokens=24, suppress_tokens=others, **options)
        assert reply.token_ids == [model.image_token_id] * 24
        logprobs = torch.stack(expected.logits).log_softmax(-1)[:, 0, model.image_token_id]
        assert reply.logprobs == pytest.approx(logprobs.tolist(), abs=1e-4)
    engine.stop()


@pytest.mark.parametrize("family", ["idefics2", "llava"])
def test_half_precision_serves(tmp_path: Path, family: str) -> None:
    folder = (
        tiny.build_decisive_policy(tmp_path)
        if family == "idefics2"
        else llava.build_decisive_policy(tmp_path, is_next=False)
    )
    model = VisionLanguageModel(folder, LoadOptions(device="cpu", dtype="bfloat16"))
    engine = Engine(model, EngineConfig(max_batch_size=2, max_queue=8))
    messages = [{"role": "user", "content": split_marks(f"<image>{observation(1, 5)}")}]
    prompts = [build_prompt(messages, from_predict([png(screenshot(i))]), model, engine.cache) for i in range(3)]
    futures = [engine.submit(prompt, SamplingParams(temperature=1, seed=0, max_new_tokens=8)) for prompt in prompts]
    assert all(future.result(60).token_ids for future in futures)
    engine.stop()


def test_the_fingerprint_follows_the_weights(tmp_path: Path) -> None:
    folder = tiny.build_decisive_policy(tmp_path)
    before = fingerprint(folder)
    weights = folder / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-2000:] = bytes(2000)
    weights.write_bytes(content)
    assert fingerprint(folder) != before
