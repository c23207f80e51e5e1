"""What was read before is not read again, and nobody can tell from the reply."""

import itertools
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from data.conversation import StepText, build_conversation, split_marks
from server.engine.engine import Engine, EngineConfig
from server.engine.memory.engine_memory import EngineMemory
from server.engine.memory.memory_budget import MemoryBudget
from server.engine.model.prompt import Prompt, build_prompt
from server.engine.model.vision_language_model import LoadOptions, VisionLanguageModel
from server.engine.model.wire_images import WireImage, from_predict
from server.engine.prompt_prefetch import NextPrompt
from server.engine.sampling import SamplingParams
from server.engine.scheduler import Scheduler
from server.engine.sequence import Options, Sequence
from tests.server.helpers import observation, png, screenshot, wait_for
from tests.tiny import llava as tiny_llava

GREEDY = SamplingParams(temperature=0, max_new_tokens=12)
REPLY = "Thought: I look.\n\nAction: Click [3]"


@pytest.fixture
def start(model: VisionLanguageModel) -> Iterator:
    """`start(**fields)` -> an engine."""
    engines = []

    def make(**fields) -> Engine:
        engines.append(Engine(fields.pop("model", model), EngineConfig(**{"prefill_chunk": 64} | fields)))
        return engines[-1]

    yield make
    for engine in engines:
        engine.stop()


def request(seed: int, step: int, last_n: int) -> tuple[list[tuple[str, str]], list[WireImage]]:
    """Turns and images of an episode's step."""
    seen = [StepText(observation(seed * 100 + number, 8), reply=REPLY) for number in range(1, step + 1)]
    conversation = build_conversation("Find <a shoe>.", [*seen[:-1], StepText(seen[-1].tree)], last_n)
    images = from_predict([png(screenshot(seed * 100 + number)) for number in conversation.image_steps])
    return [(turn.role, turn.text) for turn in conversation.turns], images


def prompt_of(engine: Engine, turns: list[tuple[str, str]], images: list[WireImage]) -> Prompt:
    messages = [{"role": role, "content": split_marks(text)} for role, text in turns]
    return build_prompt(messages, images, engine.model, engine.cache)


def generated(model: VisionLanguageModel, prompt: Prompt, **options) -> list[int]:
    """What Hugging Face's own `generate` says to the same prompt."""
    pixels = {}
    if prompt.images:
        rows = [image.pixels["pixel_values"] for image in prompt.images]
        pixels = {"pixel_values": torch.cat(rows, dim=1)}
    ids = torch.tensor([prompt.token_ids])
    options = {"do_sample": False, "min_new_tokens": 3, "max_new_tokens": 12, "eos_token_id": model.eos_ids} | options
    sequence = model.hf_model.generate(input_ids=ids, attention_mask=torch.ones_like(ids), **pixels, **options)[0]
    return sequence[ids.shape[1] :].tolist()


@pytest.mark.parametrize("last_n", [1, 3])
def test_an_episode_reads_each_step_ahead(start, last_n: int) -> None:
    """Greedy replies equal `generate` at every step, and most of each prompt is known before it comes."""
    engine, fresh, expecting = start(), start(), NextPrompt()
    for step in range(1, 7):
        wait_for(lambda: engine.idle)
        turns, images = request(1, step, last_n)
        plain = prompt_of(fresh, turns, images)
        done = engine.submit(prompt_of(engine, turns, images), GREEDY, Options(session="a")).result(60)
        assert done.token_ids == generated(engine.model, plain)
        if step > last_n + 1:
            tree = len(engine.model.processor.tokenizer(observation(0, 8))["input_ids"])
            assert done.cached_tokens > done.prompt_tokens - tree - 40
        messages, shown = expecting.expect(turns, REPLY)
        engine.read_ahead(build_prompt(messages, [images[i] for i in shown], engine.model, engine.cache), "a")
    assert engine.stats.image_misses == 6


def test_expected_prompts_are_prefixes(model: VisionLanguageModel, start) -> None:
    """Down to the next observation, whatever happened in the episode."""
    engine, expecting = start(), NextPrompt(last_n=2)
    for step in range(1, 6):
        turns, images = request(2, step, 2)
        messages, shown = expecting.expect(turns, REPLY)
        expected = build_prompt(messages, [images[i] for i in shown], model, engine.cache)
        actual = prompt_of(engine, *request(2, step + 1, 2))
        common = len(
            list(itertools.takewhile(lambda pair: pair[0] == pair[1], zip(expected.keys, actual.keys, strict=False)))
        )
        tail = model.processor.tokenizer.decode(expected.token_ids[common:])
        assert len(tail) < 40 and "Assistant" in tail
    assert expecting.expect(turns, "Thought: done.\n\nAction: ANSWER; 3") is None
    assert expecting.expect([("user", "no such form")], REPLY) is None
    assert expecting.expect([("system", "x"), *turns], REPLY) is None


def test_random_mixes_equal_generate(start, model: VisionLanguageModel) -> None:
    """Forks, chunk sizes, cancelled requests, tight memory: every greedy reply is `generate`'s."""
    rng = random.Random(0)
    fresh = start()
    prompts = [prompt_of(fresh, *request(seed, step, 3)) for seed in range(3) for step in (1, 2, 4)]
    expected = [generated(model, prompt) for prompt in prompts]
    per_token = model.new_slots().bytes_per_token
    for chunk, batch, tokens in ((7, 5, 3000), (64, 2, 900), (300, 8, 6000)):
        engine = start(prefill_chunk=chunk, max_batch_size=batch, kv_cache_bytes=tokens * per_token)
        asked = []
        for _ in range(24):
            number, session = rng.randrange(len(prompts)), rng.choice([None, "a", "b"])
            future = engine.submit(prompts[number], GREEDY, Options(session=session))
            if rng.random() < 0.2:
                future.cancel()
            else:
                asked.append((number, future))
            if rng.random() < 0.3:
                engine.read_ahead(rng.choice(prompts), rng.choice(["a", "b", "c"]))
        for number, future in asked:
            assert future.result(120).token_ids == expected[number]
        assert engine.stats.cached_tokens > 0
        assert engine.kv_bytes <= tokens * per_token


@pytest.mark.parametrize("is_next", [False, True])
def test_llava_reuses_its_prefix(start, tmp_path: Path, is_next: bool) -> None:
    llava = VisionLanguageModel(tiny_llava.build_decisive_policy(tmp_path, is_next), LoadOptions(device="cpu"))
    engine, fresh = start(model=llava), start(model=llava)
    text = "look <image> then"
    images = from_predict([png(screenshot(1, size=(120, 200)))])
    longer = [("user", text), ("assistant", "yes"), ("user", observation(1, 5))]
    engine.submit(prompt_of(engine, [("user", text)], images), GREEDY, Options(session="a")).result(60)
    again = engine.submit(prompt_of(engine, longer, images), GREEDY, Options(session="a")).result(60)
    alone = fresh.submit(prompt_of(fresh, longer, images), GREEDY).result(60)
    assert again.token_ids == alone.token_ids
    assert again.cached_tokens > engine.cache.get(images[0].key).shape[0] and alone.cached_tokens == 0


def test_another_image_is_another_prefix(start) -> None:
    engine = start()
    for seed in (1, 2):
        images = from_predict([png(screenshot(seed))])
        done = engine.submit(prompt_of(engine, [("user", "<image>\nsame words")], images), GREEDY).result(60)
        assert done.cached_tokens < 10  # "User:" and what stands around images


def test_replies_to_one_prompt_read_it_once(start) -> None:
    engine = start()
    prompt = prompt_of(engine, *request(5, 2, 3))
    futures = [engine.submit(prompt, SamplingParams(seed=seed, max_new_tokens=8)) for seed in range(4)]
    assert sum(future.result(60).cached_tokens for future in futures) == 3 * (len(prompt.token_ids) - 1)
    assert engine.stats.chunk_tokens == len(prompt.token_ids) + 3


def test_a_long_prompt_does_not_stall_replies(start) -> None:
    """While 3000 tokens are read in chunks, a running reply gets a token at every chunk."""
    engine = start(prefill_chunk=100)
    heard: list[float] = []
    long_params = SamplingParams(temperature=0, max_new_tokens=400, min_new_tokens=400)
    running = engine.submit(Prompt([6] * 5), long_params, Options(on_token=lambda *_: heard.append(1)))
    engine.submit(Prompt([7] * 3000), SamplingParams(temperature=0, max_new_tokens=1)).result(120)
    before = len(heard)
    assert before >= 29
    running.cancel()


def test_memory_admits_no_more_than_fits(model: VisionLanguageModel) -> None:
    slots = model.new_slots()
    budget = (2 * 512 + 256) * slots.bytes_per_token  # two rows, and one of the model's two layers of the first again
    memory = EngineMemory(slots, MemoryBudget(budget), model.feature_bytes_per_token)
    scheduler = Scheduler(memory, max_batch_size=8, prefill_chunk=64)
    for _ in range(4):
        scheduler.waiting.append(Sequence(Prompt([6] * 400), GREEDY, Options(), max_new_tokens=12))
    scheduler.admit()
    assert (len(scheduler.reading), len(scheduler.waiting)) == (2, 2)
    scheduler.stop(scheduler.reading[0], keep=False)
    scheduler.admit()
    assert (len(scheduler.reading), len(scheduler.waiting)) == (2, 1)
    assert not scheduler.fits_alone(Sequence(Prompt([6] * 2000), GREEDY, Options()))
