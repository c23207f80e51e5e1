"""Our engine as a side of `benchmarks/serving.py`."""

import collections
import contextlib
import dataclasses
import threading
import uuid
from collections.abc import Sequence as Listed
from collections.abc import Set
from pathlib import Path
from typing import Any

import torch

from benchmarks.serving_traffic import Recorded, Request
from benchmarks.traced import traced
from data.conversation import split_marks
from server.engine.batch import DraftedReply
from server.engine.engine import Engine, EngineConfig
from server.engine.model.prompt import Prompt, build_prompt
from server.engine.model.vision_language_model import VisionLanguageModel
from server.engine.model.wire_images import WireImage, from_predict
from server.engine.model_step import Computed, Drawn, ModelStep
from server.engine.prompt_prefetch import NextPrompt
from server.engine.sampling import SamplingParams
from server.engine.sequence import Options, Sequence

_TRACED = 3  # of its kind: the ones before are slower


@dataclasses.dataclass(frozen=True)
class Given(SamplingParams):
    """Greedy, and says a recorded reply."""

    temperature: float = 0.0
    recorded: Recorded = dataclasses.field(default_factory=lambda: Recorded(()))


class GivenStep(ModelStep):
    """The engine's step, where every reply says what is recorded; drafts are kept as far as they agree with it."""

    trace: Path | None = None
    """Begins the names of the files about one step that reads prompts alone and one that decodes alone."""

    def __init__(self, *parts: Any):
        super().__init__(*parts)
        self._steps: collections.Counter[str] = collections.Counter()

    def compute(self, alone: Sequence | None = None) -> Computed:
        with self._traced():
            return super().compute(alone)

    def _traced(self) -> contextlib.AbstractContextManager[None]:
        reading, decoding = bool(self._scheduler.reading), bool(self._scheduler.decoding)
        if self.trace is None or reading == decoding:
            return contextlib.nullcontext()
        kind = "prefill" if reading else "decode"
        self._steps[kind] += 1
        name = self.trace.with_name(f"{self.trace.name}_{kind}")
        return traced(name) if self._steps[kind] == _TRACED else contextlib.nullcontext()

    def _draw(self, replies: Listed[DraftedReply], logits: torch.Tensor) -> list[Drawn]:
        logits[:, self.model.banned_ids] = -torch.inf
        choices, said = iter(logits.argmax(-1).tolist()), []
        for sequence, draft in ((reply.sequence, reply.draft) for reply in replies):
            begin = len(sequence.token_ids)
            said += [sequence.params.recorded.say(begin + nth, next(choices)) for nth in range(1 + len(draft))]
        logits = torch.full_like(logits, -torch.inf)
        logits[torch.arange(len(said)), said] = 0.0
        return super()._draw(replies, logits)


class GivenEngine(Engine):
    """An engine that steps so."""

    def __init__(self, model: VisionLanguageModel, config: EngineConfig):
        super().__init__(model, config)
        self.given_step = GivenStep(model, self.memory, self._scheduler, self._drafter, self.stats)
        self._model_step = self.given_step


class Ours:
    """`num_workers` engines over the same weights; every session stays with one of them.

    `off`: of "prefixes", then every prompt begins as no other does, and nothing is read ahead; "features", then every
    image is another one each time that it comes.
    """

    def __init__(
        self,
        model: VisionLanguageModel,
        config: EngineConfig,
        num_workers: int,
        last_n: int,
        off: Set[str] = frozenset(),
    ):
        self._off = off
        self.engines = [GivenEngine(model, config) for _ in range(num_workers)]
        self._next_prompt = NextPrompt(last_n)

    def answer(self, request: Request) -> list[int]:
        """What the model would have said itself, token by token; what comes next is read ahead, as the server does."""
        engine = self.engines[int(request.session.partition("-")[0]) % len(self.engines)]
        images = from_predict(request.images)
        messages = [{"role": turn["role"], "content": split_marks(turn["content"])} for turn in request.turns]
        prompt = self._prompt(messages, images, engine)
        recorded = Recorded(request.reply_ids)
        completion = engine.submit(prompt, Given(recorded=recorded), Options(session=request.session)).result()
        assert completion.token_ids == list(request.reply_ids)
        if "prefixes" not in self._off and not request.last:  # the server would see an ANSWER
            threading.Thread(target=self._read_ahead, args=(engine, request, images)).start()
        return recorded.own

    def _read_ahead(self, engine: Engine, request: Request, images: list[WireImage]) -> None:
        expected = self._next_prompt.expect([(turn["role"], turn["content"]) for turn in request.turns], request.reply)
        if expected is not None:
            messages, shown = expected
            engine.read_ahead(self._prompt(messages, [images[i] for i in shown], engine), request.session)

    def _prompt(self, messages: list[dict[str, Any]], images: list[WireImage], engine: Engine) -> Prompt:
        prompt = build_prompt(messages, images, engine.model, engine.cache)
        keys, key = prompt.keys, uuid.uuid4().int >> 65  # 63 bits
        if "prefixes" in self._off:
            keys[0] ^= key
        if "features" in self._off:
            others = [dataclasses.replace(image, key=f"{image.key} {key}") for image in prompt.images]
            prompt = dataclasses.replace(prompt, images=others)
            prompt.__dict__["keys"] = keys  # as prefixes are known by: those of the images as they came
        return prompt

    def stop(self) -> None:
        """Drain and end."""
        for engine in self.engines:
            engine.stop()

    def rates(self) -> dict[str, float]:
        """Shares of what was asked for that was known, and how many of a reply's tokens a step gave it."""

        def total(name: str) -> int:
            return sum(getattr(engine.stats, name) for engine in self.engines)

        decoded = total("decode_tokens") - total("draft_tokens")
        return {
            "prompt_tokens_cached": round(total("cached_tokens") / max(1, total("prompt_tokens")), 3),
            "images_cached": round(1 - total("image_misses") / max(1, total("image_hits") + total("image_misses")), 3),
            "drafted_kept": round(total("kept_tokens") / max(1, total("draft_tokens")), 3),
            "tokens_a_step": round(1 + total("kept_tokens") / max(1, decoded), 2),
        }
