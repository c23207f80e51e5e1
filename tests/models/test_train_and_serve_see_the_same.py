"""From a released checkpoint through training and export to serving: the same tokens and pixels of a 1024x768 page.

Weights are random and small; processor, tokenizer, vocabulary and image sizes are those of idefics2-8b, or our own.
"""

import asyncio
import base64
import contextlib
import dataclasses
import io
import json
import shutil
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import uvicorn
from PIL import Image
from transformers import Idefics2Config, Idefics2ForConditionalGeneration

from collection.agent import chat_policy
from collection.agent.chat_policy import ChatPolicy
from collection.agent.policy import Completion, Policy, Sampling
from collection.agent.predict_policy import PredictPolicy
from data.samples.turn_samples import samples_of
from data.shards.shard import Sample
from data.task import Task
from data.trajectory import Trajectory, read_trajectory
from models.processor import load_processor, splits_images
from models.registry import family
from models.tokens.encoding import ConversationEncoder
from server.engine.engine import Engine, EngineConfig
from server.engine.model.prompt import Prompt
from server.engine.model.vision_language_model import LoadOptions, VisionLanguageModel
from server.engine.sampling import SamplingParams
from server.protocols.http_api import create_app
from server.service import Service
from tests import tiny
from tests.conftest import FIXTURES, ONE_SOURCE
from tests.field_files import write_field_files
from tests.training.conftest import converted, train
from training.batches.tokenize_sample import tokenize
from training.modules.images import encode_share

NUM_STEPS, LAST_N = 3, 3
NUM_REPLY_TOKENS = 12


@dataclasses.dataclass(frozen=True)
class Seen:
    """What a model is given: the prompt's token ids, and the pixels of its images, unit after unit."""

    token_ids: list[int]
    pixels: torch.Tensor

    def __eq__(self, other: object) -> bool:
        assert isinstance(other, Seen)
        return self.token_ids == other.token_ids and self.pixels.equal(other.pixels)


@pytest.fixture(scope="module")
def release(field_processor: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An idefics2 as it is released: its processor splits images, and has no chat template."""
    folder = tmp_path_factory.mktemp("release") / "hf"
    without = shutil.ignore_patterns("*index.json")
    shutil.copytree(field_processor, folder, ignore=without, copy_function=shutil.copyfile)
    return build_narrow_idefics2(folder)


def build_narrow_idefics2(folder: Path) -> Path:
    """Random weights beside idefics2-8b's own files: its vocabulary, image size and 64 latents, but narrow layers."""
    released = json.loads((folder / "config.json").read_text())
    text = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
    text |= {"num_key_value_heads": 2, "head_dim": 8}
    vision = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 1, "num_attention_heads": 2}
    perceiver = {"hidden_size": 32, "resampler_depth": 1, "resampler_n_heads": 2, "resampler_head_dim": 16}
    released["text_config"] |= text
    released["vision_config"] |= vision
    released.setdefault("perceiver_config", {}).update(perceiver, num_key_value_heads=2, resampler_n_latents=64)
    torch.manual_seed(0)
    Idefics2ForConditionalGeneration(Idefics2Config.from_dict(released)).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def trajectory(field_processor: Path, tmp_path_factory: pytest.TempPathFactory) -> Trajectory:
    """Three steps, each with a screenshot of 1024x768; OpenWebVoyager's own beside its own processor."""
    is_released = field_processor.parent == FIXTURES
    files = FIXTURES if is_released else write_field_files(tmp_path_factory.mktemp("field"))
    [folder] = (files / "trajectories").iterdir()
    whole = read_trajectory(folder)
    assert Image.open(whole.screenshot(1)).size == (1024, 768)
    return dataclasses.replace(whole, steps=whole.steps[:NUM_STEPS], trees=whole.trees[:NUM_STEPS])


def newest_sample(trajectory: Trajectory) -> Sample:
    """Of the last step, as the converter makes it."""
    pairs = samples_of(trajectory, 1, LAST_N)
    sample, _ = pairs[-1]
    return Sample(sample["id"], sample["conversations"], [screenshot.read_bytes() for _, screenshot in pairs])


def trained_on(folder: Path, sample: Sample, reply: Completion | None = None) -> tuple[Seen, list[int]]:
    """(prompt and pixels, reply) as trainer and scorer make them with the files in `folder`."""
    hf = family(folder).read_config(folder)
    processor = load_processor(folder)
    images = family(folder).image_encoder(processor, hf)
    encoder = ConversationEncoder(processor, images, 16384, LAST_N, "answer")
    fields: dict[str, Any] = {"conversations": sample.conversations}
    if reply:
        turns = [*sample.conversations[:-1], {"from": "gpt", "value": reply.text}]
        fields = {"conversations": turns, "token_ids": reply.token_ids, "logprobs": reply.logprobs}
    tokenized = tokenize(encoder, sample.id, fields, sample.images)
    pictures = [Image.open(io.BytesIO(image)).convert("RGB") for image in sample.images]
    shared = encode_share(images, [(one.height, one.width) for one in pictures], pictures.__getitem__, 0, 1)
    masked = tokenized.loss_mask.nonzero().flatten()
    if reply:
        assert tokenized.behavior_logprobs is not None
        assert torch.allclose(tokenized.behavior_logprobs[masked], torch.tensor(reply.logprobs))
    assert shared.num_units == len(shared.pixels["pixel_values"])
    return Seen(tokenized.ids[: masked[0]].tolist(), shared.pixels["pixel_values"]), tokenized.ids[masked].tolist()


@contextlib.contextmanager
def serving(folder: Path) -> Iterator[tuple[str, list[Prompt]]]:
    """(address, the prompts that its engine is given) of the real server over `folder`."""
    model = VisionLanguageModel(folder, LoadOptions(device="cpu"))
    engine = Engine(model, EngineConfig(max_batch_size=2, max_queue=8))
    prompts: list[Prompt] = []
    submit = engine.submit

    def note(prompt: Prompt, *arguments: Any) -> Any:
        prompts.append(prompt)
        return submit(prompt, *arguments)

    engine.cache.get = lambda key: None  # else only the first protocol's images were ever made into pixels
    engine.submit = note  # type: ignore[method-assign]
    service = Service(engine, SamplingParams(max_new_tokens=NUM_REPLY_TOKENS), folder.name, read_ahead=False)
    listener = socket.create_server(("127.0.0.1", 0))
    ready = threading.Event()
    http = uvicorn.Server(uvicorn.Config(create_app(service, ready.set), log_level="warning"))
    thread = threading.Thread(target=http.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    assert ready.wait(60)
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", prompts
    finally:
        http.should_exit = True
        thread.join(60)


def ask(policy: Policy, trajectory: Trajectory) -> Completion:
    """The reply to the newest observation, as the collector asks for it."""
    steps = trajectory.texts()
    steps[-1] = dataclasses.replace(steps[-1], reply=None)
    shots = {
        step.number: base64.b64encode(trajectory.screenshot(step.number).read_bytes()).decode()
        for step in trajectory.steps
    }
    task = Task(trajectory.task_id, trajectory.ques, trajectory.web)

    async def reply() -> Completion:
        try:
            return await policy.reply(task, "task", steps, shots, seed=11)
        finally:
            await policy.close()

    return asyncio.run(reply())


def served(folder: Path, trajectory: Trajectory) -> tuple[Seen, Completion]:
    """What `/predict` and `/v1/chat/completions` show the model, which must be the same, and what it replies."""
    sampling = Sampling(temperature=1.0, last_n=LAST_N, prompt="trained")
    with serving(folder) as (url, prompts):
        policies = [PredictPolicy([f"{url}/predict"], sampling), ChatPolicy("", "none", f"{url}/v1", sampling)]
        replies = [ask(policy, trajectory) for policy in policies]
    seen = [
        Seen(prompt.token_ids, torch.cat([image.pixels["pixel_values"][0] for image in prompt.images]))
        for prompt in prompts
    ]
    assert len(seen) == 2 and seen[0] == seen[1]
    assert replies[0].token_ids and replies[0].token_ids == replies[1].token_ids
    assert replies[0].logprobs == pytest.approx(replies[1].logprobs)
    assert replies[0].prompt_tokens == replies[1].prompt_tokens == len(seen[0].token_ids)
    assert replies[0].weights_version == replies[1].weights_version
    return seen[0], replies[1]


@pytest.mark.timeout(900)
@pytest.mark.parametrize("field_processor", ONE_SOURCE, indirect=True)
def test_from_release_to_export(
    release: Path, trajectory: Trajectory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chat_policy, "MAX_TRAINED_TOKENS", NUM_REPLY_TOKENS)
    sample = newest_sample(trajectory)
    latents = load_processor(release).image_seq_len
    image_id = load_processor(release).tokenizer.convert_tokens_to_ids("<image>")

    as_released, _ = trained_on(release, sample)
    assert served(release, trajectory)[0] == as_released
    assert as_released.token_ids.count(image_id) == 5 * LAST_N * latents
    assert tuple(as_released.pixels.shape) == (5 * LAST_N, 3, 735, 980)

    megatron = converted("hf2mg", release, tmp_path / "megatron")
    seen_by_trainer, written = trained_on(megatron, sample)
    assert seen_by_trainer.token_ids.count(image_id) == LAST_N * latents
    assert tuple(seen_by_trainer.pixels.shape) == (LAST_N, 3, 980, 980)

    shards = tiny.build_dataset(tmp_path / "shards", [sample])
    options = {"tp": 1, "global_batch_size": 1, "batch_size": 1, "train_iters": 1, "save_interval": 1, "seq_len": 8192}
    train("idefics2", shards, megatron, tmp_path / "output", **options)
    checkpoint = tmp_path / "output" / "checkpoint" / "run"
    assert trained_on(checkpoint, sample) == (seen_by_trainer, written)

    exported = converted("mg2hf", checkpoint, tmp_path / "hf")
    assert not splits_images(exported) and (exported / "chat_template.jinja").exists()
    seen, reply = served(exported, trajectory)
    assert seen == seen_by_trainer
    assert trained_on(exported, sample) == (seen_by_trainer, written)

    sampled, trained = trained_on(checkpoint, sample, reply)
    assert sampled == seen_by_trainer
    assert trained == reply.token_ids
    for name, what in (("released", as_released), ("trained and served", seen)):
        num_tokens, num_image_tokens = len(what.token_ids), what.token_ids.count(image_id)
        print(f"{name}: {num_tokens} prompt tokens, {num_image_tokens} of images, pixels {tuple(what.pixels.shape)}")
