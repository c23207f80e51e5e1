"""The engine gives every request what it would get alone, whatever else runs beside it."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from common.errors import UserError
from data.conversation import split_marks
from server.engine.engine import Engine, EngineConfig
from server.engine.memory.kv_slots import KVSlots
from server.engine.model.prompt import Prompt, build_prompt
from server.engine.model.vision_language_model import LoadOptions, VisionLanguageModel
from server.engine.model.wire_images import from_predict
from server.engine.sampling import SamplingParams
from server.engine.sequence import EngineBusyError, Options
from tests import tiny
from tests.server.helpers import observation, png, screenshot

GREEDY = SamplingParams(temperature=0, max_new_tokens=20)


@pytest.fixture
def engine(model: VisionLanguageModel) -> Iterator[Engine]:
    engine = Engine(model, EngineConfig(max_batch_size=3, max_queue=64, prefill_chunk=50))
    yield engine
    engine.stop()


def conversation(seed: int, num_images: int, num_lines: int) -> tuple[list[dict], list]:
    text = "<image>\n" * num_images + observation(seed, num_lines)
    return [{"role": "user", "content": text}], [screenshot(seed * 10 + i) for i in range(num_images)]


def prompt_of(engine: Engine, seed: int, num_images: int, num_lines: int) -> Prompt:
    turns, images = conversation(seed, num_images, num_lines)
    messages = [{"role": turn["role"], "content": split_marks(turn["content"])} for turn in turns]
    return build_prompt(messages, from_predict([png(image) for image in images]), engine.model, engine.cache)


def generated(model: VisionLanguageModel, seed: int, num_images: int, num_lines: int, **options) -> list[int]:
    """What plain `generate` makes of the same conversation, prepared by the processor as its users do."""
    turns, images = conversation(seed, num_images, num_lines)
    messages = [{"role": turn["role"], "content": split_marks(turn["content"])} for turn in turns]
    text = model.processor.apply_chat_template(messages, add_generation_prompt=True).strip()
    inputs = model.processor(text=[text], images=[images] if images else None, return_tensors="pt")
    options = {"do_sample": False, "min_new_tokens": 3, "max_new_tokens": 20, "eos_token_id": model.eos_ids} | options
    sequence = model.hf_model.generate(**inputs, **options)[0]
    return sequence[inputs["input_ids"].shape[1] :].tolist()


MIX = [(1, 1, 30), (2, 0, 5), (3, 3, 12), (4, 2, 60), (5, 1, 1), (6, 0, 40), (7, 1, 30)]


def test_greedy_equals_generate_in_any_batch_mix(engine: Engine) -> None:
    """Seven requests through three slots, with 0 to 3 images, leaving at different times."""
    futures = []
    for index, shape in enumerate(MIX):
        params = SamplingParams(temperature=0, max_new_tokens=5 + 7 * index)
        futures.append(engine.submit(prompt_of(engine, *shape), params))
    for index, (shape, future) in enumerate(zip(MIX, futures, strict=True)):
        assert future.result(60).token_ids == generated(engine.model, *shape, max_new_tokens=5 + 7 * index)


def test_of_a_prompt_the_last_layer_computes_one_token(engine: Engine) -> None:
    prompt, lengths = prompt_of(engine, *MIX[0]), ([], [])  # tokens of the first and the last layer, step by step
    layers = engine.model.hf_model.get_decoder().layers
    hooks = [
        layer.mlp.register_forward_pre_hook(lambda _, inputs, noted=noted: noted.append(inputs[0].shape[1]))
        for layer, noted in zip((layers[0], layers[-1]), lengths, strict=True)
    ]
    engine.submit(prompt, GREEDY).result(60)
    for hook in hooks:
        hook.remove()
    first, last = lengths
    assert len(prompt.token_ids) > 3 * engine.config.prefill_chunk
    assert last[0] == 1
    assert sum(first) - sum(last) == len(prompt.token_ids) - 1


def test_greedy_equals_generate_at_an_end_token(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """An ordinary token becomes an end token: once where it comes late, once where min_new_tokens forbids it."""
    free = generated(engine.model, *MIX[0])
    for end in (free[9], free[1]):
        monkeypatch.setattr(engine.model, "eos_ids", [end])
        futures = [engine.submit(prompt_of(engine, *shape), GREEDY) for shape in MIX[:3]]
        for shape, future in zip(MIX, futures, strict=False):
            completion = future.result(60)
            assert completion.token_ids == generated(engine.model, *shape)
            assert completion.finish_reason == ("stop" if completion.token_ids[-1] == end else "length")


def test_greedy_equals_generate_in_a_sliding_window(tmp_path: Path) -> None:
    model = VisionLanguageModel(tiny.build_decisive_policy(tmp_path, sliding_window=64), LoadOptions(device="cpu"))
    engine = Engine(model, EngineConfig(max_batch_size=2, max_queue=8))
    futures = [engine.submit(prompt_of(engine, *shape), GREEDY) for shape in MIX[:3]]
    assert [future.result(60).token_ids for future in futures] == [generated(model, *shape) for shape in MIX[:3]]
    engine.stop()


def test_eager_attention_gives_the_same_tokens(tiny_policy: Path, engine: Engine) -> None:
    eager = Engine(
        VisionLanguageModel(tiny_policy, LoadOptions("cpu", attn_implementation="eager")), EngineConfig(2, 8)
    )
    for shape in MIX[:2]:
        one, other = (e.submit(prompt_of(e, *shape), GREEDY).result(60) for e in (engine, eager))
        assert one.token_ids == other.token_ids
    eager.stop()


def test_banned_tokens_are_never_said(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkpoint's `bad_words_ids` (released ones forbid image tokens) count here as they do in generate."""
    banned = generated(engine.model, *MIX[0])[:2]
    monkeypatch.setattr(engine.model, "banned_ids", banned)
    tokens = engine.submit(prompt_of(engine, *MIX[0]), GREEDY).result(60).token_ids
    assert tokens == generated(engine.model, *MIX[0], bad_words_ids=[[token] for token in banned])
    assert not set(tokens) & set(banned)


def test_a_seed_fixes_the_tokens_in_any_company(engine: Engine) -> None:
    params = SamplingParams(temperature=1.0, seed=7, max_new_tokens=16)
    alone = engine.submit(prompt_of(engine, *MIX[0]), params).result(60).token_ids
    for company in (MIX[1:3], MIX[3:7]):
        others = [engine.submit(prompt_of(engine, *shape), SamplingParams(temperature=1.5)) for shape in company]
        assert engine.submit(prompt_of(engine, *MIX[0]), params).result(60).token_ids == alone
        for other in others:
            other.cancel()
    other_seed = SamplingParams(temperature=1.0, seed=8, max_new_tokens=16)
    assert engine.submit(prompt_of(engine, *MIX[0]), other_seed).result(60).token_ids != alone


def test_logprobs_are_the_models_own(engine: Engine) -> None:
    prompt = prompt_of(engine, *MIX[0])
    params = SamplingParams(temperature=0.7, seed=1, max_new_tokens=6, min_new_tokens=0)
    completion = engine.submit(prompt, params).result(60)
    turns, images = conversation(*MIX[0])
    text = engine.model.processor.apply_chat_template(
        [{"role": "user", "content": split_marks(turns[0]["content"])}], add_generation_prompt=True
    )
    inputs = engine.model.processor(text=[text.strip()], images=[images], return_tensors="pt")
    reply = torch.tensor([completion.token_ids])
    inputs["input_ids"] = torch.cat([inputs["input_ids"], reply], dim=1)
    inputs["attention_mask"] = torch.ones_like(inputs["input_ids"])
    with torch.inference_mode():
        logits = engine.model.hf_model(**inputs).logits[0, -reply.shape[1] - 1 : -1]
    expected = logits.log_softmax(-1).gather(1, reply[0][:, None])[:, 0]
    assert torch.allclose(torch.tensor(completion.logprobs), expected, atol=1e-4)


def test_an_image_is_encoded_once(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    encode = engine.model.encode_image
    monkeypatch.setattr(engine.model, "encode_image", lambda pixels: calls.append(1) or encode(pixels))
    first = engine.submit(prompt_of(engine, *MIX[3]), GREEDY).result(60)
    monkeypatch.setattr(engine.model, "pixels", lambda image: pytest.fail("a known image was resized again"))
    again = engine.submit(prompt_of(engine, *MIX[3]), GREEDY).result(60)
    assert len(calls) == 2  # the two images of this conversation
    assert again.token_ids == first.token_ids


def test_a_failing_request_fails_alone(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    good = engine.submit(prompt_of(engine, *MIX[0]), SamplingParams(temperature=0, max_new_tokens=60))
    broken = Prompt(prompt_of(engine, *MIX[4]).token_ids, [], engine.model.image_token_id)
    too_long = Prompt([6] * (engine.model.context_length + 1), [])
    with pytest.raises(UserError, match="image tokens"):
        engine.submit(broken, GREEDY).result(60)
    with pytest.raises(UserError, match="8193 tokens; the model reads 8192"):
        engine.submit(too_long, GREEDY).result(60)
    assert len(good.result(60).token_ids) == 60


def test_the_engine_outlives_a_failing_step(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those in the batch fail, the next ones do not. (What a lack of memory does is in test_out_of_memory.py.)"""
    with monkeypatch.context() as patch:
        patch.setattr(engine.model, "forward", lambda *_: (_ for _ in ()).throw(RuntimeError("device-side assert")))
        with pytest.raises(RuntimeError, match="device-side assert"):
            engine.submit(prompt_of(engine, *MIX[0]), GREEDY).result(60)
    assert engine.submit(prompt_of(engine, *MIX[1]), GREEDY).result(60).token_ids == generated(engine.model, *MIX[1])


def test_a_full_context_ends_the_reply(engine: Engine) -> None:
    prompt = Prompt([6] * (engine.model.context_length - 4), [])
    completion = engine.submit(prompt, SamplingParams(temperature=0, max_new_tokens=50)).result(60)
    assert (len(completion.token_ids), completion.finish_reason) == (4, "length")


def test_a_cancelled_request_frees_its_slot(engine: Engine) -> None:
    started = threading.Event()
    params = SamplingParams(temperature=0, max_new_tokens=2000, min_new_tokens=2000)
    futures = [
        engine.submit(prompt_of(engine, *MIX[1]), params, Options(on_token=lambda *_: started.set())) for _ in range(3)
    ]
    started.wait(60)
    for future in futures:
        future.cancel()
    assert engine.submit(prompt_of(engine, *MIX[1]), GREEDY).result(60)
    assert engine.num_running == 0


def test_a_full_queue_refuses(model: VisionLanguageModel) -> None:
    engine = Engine(model, EngineConfig(max_batch_size=1, max_queue=1))
    started = threading.Event()
    long = SamplingParams(temperature=0, max_new_tokens=500, min_new_tokens=500)
    running = engine.submit(prompt_of(engine, *MIX[1]), long, Options(on_token=lambda *_: started.set()))
    started.wait(60)
    waiting = engine.submit(prompt_of(engine, *MIX[1]), GREEDY)
    with pytest.raises(EngineBusyError, match="waiting"):
        engine.submit(prompt_of(engine, *MIX[1]), GREEDY)
    running.cancel()
    assert waiting.result(60)
    engine.stop()


def test_what_a_row_held_before_reaches_nobody(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even what is not finite, where rows are read together, as on a GPU."""

    def leave(slots: KVSlots) -> None:
        for layer in slots.layers:
            layer.fill_(float("inf"))

    monkeypatch.setattr(KVSlots, "release", leave)
    engine.memory.slots.read_together = True
    for _ in range(2):
        prompts = [prompt_of(engine, *shape) for shape in MIX]
        replies = [engine.submit(prompt, GREEDY).result for prompt in prompts]
        for reply, shape in zip(replies, MIX, strict=True):
            assert reply(60).token_ids == generated(engine.model, *shape)


def test_stop_finishes_what_was_accepted(model: VisionLanguageModel) -> None:
    engine = Engine(model, EngineConfig(max_batch_size=2, max_queue=8))
    futures = [engine.submit(prompt_of(engine, *MIX[1]), GREEDY) for _ in range(5)]
    engine.stop()
    assert all(len(future.result(0).token_ids) == 20 for future in futures)
    with pytest.raises(EngineBusyError, match="shutting down"):
        engine.submit(Prompt([6], []), GREEDY)


@pytest.mark.parametrize("field, value", [("temperature", -1), ("top_p", 0), ("top_k", -1), ("max_new_tokens", 0)])
def test_parameters_out_of_range_are_refused(engine: Engine, field: str, value: float) -> None:
    with pytest.raises(UserError, match=field):
        engine.submit(Prompt([6], []), SamplingParams(**{field: value}))


def test_requests_share_decode_steps(engine: Engine) -> None:
    futures = [engine.submit(prompt_of(engine, *MIX[1]), GREEDY) for _ in range(6)]
    assert sum(len(future.result(60).token_ids) for future in futures) == 6 * 20
    assert engine.stats.decode_tokens == 6 * 19
    assert engine.stats.steps < 6 * 19 / 2


@torch.inference_mode()
def test_a_prompt_that_moves_in_a_step_keeps_what_the_step_read(engine: Engine) -> None:
    """A short prompt, read first though it stands in row 1, is done and takes row 0 from a long one that reads on in
    the same step. The steps are made by hand, for the order to be certain."""
    by_hand = Engine(engine.model, EngineConfig(max_batch_size=3, prefill_chunk=300))
    by_hand.stop()
    prompts = [prompt_of(engine, *shape) for shape in [(8, 0, 60), (9, 0, 2), (10, 0, 60)]]
    gone, short, long = (by_hand._sequence(prompt, GREEDY, Options()) for prompt in prompts)
    scheduler = by_hand._scheduler
    scheduler.waiting.extend([gone, short])
    scheduler.admit()
    scheduler.stop(gone, keep=False)
    scheduler.waiting.append(long)
    scheduler.admit()
    assert (short.row, long.row, scheduler.reading) == (1, 0, [short, long])
    while scheduler.active:
        by_hand._step()
    for sequence, prompt in ((short, prompts[1]), (long, prompts[2])):
        alone = engine.submit(prompt, GREEDY).result(60)
        assert [token.logprob for token in sequence.drawn] == pytest.approx(alone.logprobs, abs=1e-4)
