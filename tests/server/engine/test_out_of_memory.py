"""Running out of memory costs a request at most: nobody hangs, the others' replies stay the same, memory comes back."""

import concurrent.futures
import dataclasses
import gc
from collections.abc import Callable, Collection, Iterable, Iterator

import pytest
import torch

from server.engine.engine import EngineConfig
from server.engine.memory.feature_cache import FeatureCache
from server.engine.model.prompt import Prompt, build_prompt, with_reply
from server.engine.model.vision_language_model import VisionLanguageModel
from server.engine.model.wire_images import WireImage, from_predict
from server.engine.sampling import SamplingParams
from server.engine.sequence import Completion, MemoryFullError, Options, Sequence
from tests.server.engine.allocation_faults import ERRORS, Place, WatchedEngine
from tests.server.helpers import observation, png, screenshot

CONFIG = EngineConfig(max_batch_size=4, prefill_chunk=64)
GREEDY = SamplingParams(temperature=0, max_new_tokens=4)
Future = concurrent.futures.Future[Completion]


@pytest.fixture
def start(model: VisionLanguageModel) -> Iterator[Callable[..., WatchedEngine]]:
    engines = []

    def make(known: Collection[Place] = ()) -> WatchedEngine:
        engines.append(WatchedEngine(model, CONFIG, known=known))
        return engines[-1]

    yield make
    for engine in engines:
        engine.gate.set()
        engine.stop()


def conversation(seed: int, num_images: int, num_lines: int) -> tuple[list[dict], list[WireImage]]:
    parts = [{"type": "image"}] * num_images + [{"type": "text", "text": observation(seed, num_lines)}]
    images = [png(screenshot(10 * seed + number)) for number in range(num_images)]
    return [{"role": "user", "content": parts}], from_predict(images)


@dataclasses.dataclass(frozen=True)
class Prompts:
    """Made once: they belong to no engine."""

    first: list[Prompt]
    scored: Prompt
    ahead: Prompt


@pytest.fixture(scope="module")
def prompts(model: VisionLanguageModel) -> Prompts:
    """A long one in the first row, so that others move past it; one with several images; a short one."""
    cache = FeatureCache()
    first = [build_prompt(*conversation(*shape), model, cache) for shape in [(1, 1, 30), (2, 2, 3), (3, 1, 5)]]
    messages, images = conversation(3, 1, 5)
    scored = with_reply(build_prompt(messages, images, model, cache), messages, images, model, "Click [3]")
    return Prompts(first, scored, build_prompt(*conversation(4, 1, 2), model, cache))


def load(engine: WatchedEngine, prompts: Prompts) -> list[Future]:
    """Three requests at once, then two that find what they left: the same session again, an answer to be scored.
    While they run a prompt is read ahead."""
    futures = []
    for number, prompt in enumerate(prompts.first):
        params = SamplingParams(temperature=0.7 * (number == 2), seed=5, max_new_tokens=4)
        futures.append(engine.submit(prompt, params, Options(session=str(number))))
    engine.gate.set()
    concurrent.futures.wait(futures, timeout=60)
    futures.append(engine.submit(prompts.first[1], GREEDY, Options(session="1")))
    futures.append(engine.submit(prompts.scored, GREEDY, Options(num_scored=5)))
    engine.read_ahead(prompts.ahead, "ahead")
    concurrent.futures.wait(futures, timeout=60)
    return futures


def outcome(future: Future) -> tuple[list[int], list[float]] | type[BaseException]:
    """What a client notices; a request that hangs raises."""
    error = future.exception(timeout=0)
    if error is not None:
        return type(error)
    return future.result().token_ids, [round(logprob, 3) for logprob in future.result().logprobs]


def live_bytes() -> int:
    """Of all tensors there are."""
    gc.collect()
    tensors = [one for one in gc.get_objects() if type(one) is torch.Tensor]
    return sum({one.untyped_storage().data_ptr(): one.untyped_storage().nbytes() for one in tensors}.values())


@pytest.fixture(scope="module")
def undisturbed(model: VisionLanguageModel, prompts: Prompts) -> tuple[list, list[Place]]:
    """(what the load is answered without faults, the places that allocated)."""
    engine = WatchedEngine(model, CONFIG)
    expected = [outcome(future) for future in load(engine, prompts)]
    engine.stop()
    return expected, sorted(engine.allocations.places)


def test_the_watch_sees_the_places_it_should(undisturbed: tuple[list, list[Place]]) -> None:
    """Else the tests below show less than they say."""
    seen = "\n".join(" ".join(place) for place in undisturbed[1])
    for what in ("_resized", "encode_image", "forward", "spare", "sample", "_draw", "_score", " read", "attend"):
        assert what in seen, what
    assert len(undisturbed[1]) > 60


def test_a_passing_lack_of_memory_costs_nobody_anything(
    start: Callable[..., WatchedEngine], prompts: Prompts, undisturbed: tuple[list, list[Place]]
) -> None:
    """Each place fails once, several of them under way of one load: what may be made again is freed and the step taken
    again, to the same replies."""
    expected, places = undisturbed
    left = set(places)
    while left:
        engine = start(places)
        engine.allocations.fail_once_at(left)
        assert [outcome(future) for future in load(engine, prompts)] == expected, left
        assert engine.alive
        assert engine.allocations.passing < left
        left = set(engine.allocations.passing)


def one_a_line(places: Iterable[Place]) -> list[Place]:
    """What handles a failure is chosen by the line of ours that allocates, not by the model's operation below it."""
    return list({place[:-1]: place for place in places}.values())


def every_third_line(places: Iterable[Place]) -> list[Place]:
    return one_a_line(places)[::3]


@pytest.mark.parametrize(
    "choose", [every_third_line, *(pytest.param(choose, marks=pytest.mark.slow) for choose in (one_a_line, list))]
)
def test_memory_that_stays_full_costs_one_request(
    choose: Callable[[Iterable[Place]], list[Place]],
    model: VisionLanguageModel,
    prompts: Prompts,
    undisturbed: tuple[list, list[Place]],
) -> None:
    """From each place on, until a request is given up: that one fails, the others' replies are the same, and nothing
    is held in the end."""
    expected, places = undisturbed
    before = live_bytes()
    for number, place in enumerate(choose(places)):
        found = with_full_memory(model, prompts, places, place, ERRORS[number % len(ERRORS)])
        lost = [one for one, other in zip(found, expected, strict=True) if one != other]
        assert len(lost) <= 1 and set(lost) <= {MemoryFullError}, place
    assert live_bytes() == before


def with_full_memory(
    model: VisionLanguageModel, prompts: Prompts, places: list[Place], place: Place, error: Exception
) -> list:
    """What the load is answered when memory is full from `place` on until a request fails; then all is as before."""
    engine = GivingUp(model, CONFIG, known=places)
    engine.allocations.full_from(place, error)
    futures = load(engine, prompts)
    assert engine.allocations.num_failed and engine.alive, place
    engine.allocations.relieve()
    assert len(engine.submit(prompts.first[2], GREEDY).result(60).token_ids) == 4, place
    engine.stop()
    assert (engine.memory.nbytes, engine.memory.budget.held_by_others(None)) == (0, 0), place
    return [outcome(future) for future in futures]


class GivingUp(WatchedEngine):
    """Memory is there again as soon as a request has been given up."""

    def _fail(self, sequence: Sequence, error: Exception) -> None:
        if not sequence.options.prefetch:
            self.allocations.relieve()
        super()._fail(sequence, error)


def test_no_memory_at_all_refuses_all_and_hangs_none(start: Callable[..., WatchedEngine], prompts: Prompts) -> None:
    engine = start()
    engine.allocations.full_from(None)
    assert {outcome(future) for future in load(engine, prompts)} == {MemoryFullError}
    assert engine.alive and engine.kv_bytes == 0
    engine.allocations.relieve()
    assert len(engine.submit(prompts.first[0], GREEDY).result(60).token_ids) == 4
