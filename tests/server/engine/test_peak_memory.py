"""The budget bounds what is held at any instant, not what is left when a step is done."""

import sys
import threading
import weakref
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from server.engine.engine import Engine, EngineConfig
from server.engine.memory.kv_slots import KVSlots
from server.engine.memory.memory_budget import MemoryBudget
from server.engine.model.prompt import Prompt, build_prompt
from server.engine.model.vision_language_model import VisionLanguageModel
from server.engine.model.wire_images import from_predict
from server.engine.sampling import SamplingParams
from server.engine.sequence import Options
from server.service import GenerationRequest, _submit
from tests.server.helpers import observation, png, screenshot


class Held(TorchDispatchMode):
    """The bytes of all keys and values that are alive, however they are booked."""

    def __init__(self) -> None:
        super().__init__()
        self.nbytes = self.peak = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        output = func(*args, **(kwargs or {}))
        if func.__name__.partition(".")[0] in ("new_zeros", "new_empty") and _made_by_slots():
            self.nbytes += output.nbytes
            self.peak = max(self.peak, self.nbytes)
            weakref.finalize(output, self._gone, output.nbytes)
        return output

    def _gone(self, nbytes: int) -> None:
        self.nbytes -= nbytes


def _made_by_slots() -> bool:
    frame = sys._getframe(2)
    while frame is not None and not frame.f_code.co_filename.endswith("kv_slots.py"):
        frame = frame.f_back
    return frame is not None and frame.f_code.co_name in ("_resized", "read")


class WatchedEngine(Engine):
    """Begins when `gate` opens."""

    def __init__(self, *args: Any):
        self.held, self.gate = Held(), threading.Event()
        super().__init__(*args)

    def _run(self) -> None:
        self.gate.wait()
        with self.held:
            super()._run()


def test_slots_say_what_growing_and_shrinking_hold_on_the_way() -> None:
    for steps in ([(1, 256), (2, 256), (3, 700), (1, 300)], [(4, 1024), (4, 1024), (5, 512)]):
        slots = KVSlots(4, 2, 8, torch.float32, torch.device("cpu"))
        for shape in steps:
            said = slots.peak_bytes(*shape)
            with Held() as held:
                held.nbytes = held.peak = slots.held_bytes
                for layer in slots.layers:
                    weakref.finalize(layer, held._gone, layer.nbytes)
                del layer
                slots.resize(*shape)
            assert held.peak == said and held.nbytes == slots.held_bytes == slots.nbytes(*shape)


@pytest.mark.parametrize("num_tokens", [1600, 3000])
def test_the_budget_holds_at_every_instant(model: VisionLanguageModel, num_tokens: int) -> None:
    """Long prompts read in chunks beside short ones, several replies of one prompt, drafts, screenshots, scored answers
    and prompts read ahead, which make the slots grow and shrink: all are answered within the budget."""
    budget = MemoryBudget(num_tokens * model.new_slots().bytes_per_token)
    engine = WatchedEngine(model, EngineConfig(max_batch_size=6, prefill_chunk=64), budget)
    futures = []
    for seed in range(6):
        content = [
            {"type": "image"},
            {"type": "image"},
            {"type": "text", "text": observation(seed, 4 + 12 * (seed % 3))},
        ]
        images = from_predict([png(screenshot(seed)), png(screenshot(seed + 1))])
        prompt = build_prompt([{"role": "user", "content": content}], images, model, engine.cache)
        params = SamplingParams(temperature=1.0, seed=seed, max_new_tokens=10 + 60 * (seed % 2))
        futures += _submit(
            engine, GenerationRequest(lambda _, prompt=prompt: prompt, params, num_replies=3), None, None
        )
        futures.append(engine.submit(prompt, params, Options(session=f"s{seed}", num_scored=5)))
        engine.read_ahead(Prompt([6, *range(10, 10 + 40 * seed)]), f"s{seed + 1}")
    engine.gate.set()
    assert all(future.result(120) for future in futures)
    engine.stop()
    assert engine.held.peak <= budget.total_bytes, engine.held.peak / budget.total_bytes
    assert engine.held.peak > 0.6 * budget.total_bytes or num_tokens == 3000  # else this shows nothing
