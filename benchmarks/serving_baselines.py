"""What the serving benchmark compares with: the published server's logic, and fixed-window micro-batching."""

import queue
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any

import torch
from PIL import Image
from transformers import LogitsProcessor

from benchmarks.serving_traffic import Recorded, Request
from data.conversation import split_marks
from server.engine.model.vision_language_model import VisionLanguageModel
from server.engine.model.wire_images import from_predict

_MAX_NEW_TOKENS, _MIN_NEW_TOKENS = 256, 3  # the published server's
_THREADS = 40  # in which FastAPI answers, unless told otherwise


def read(model: VisionLanguageModel, request: Request) -> tuple[str, list[Image.Image]]:
    """Prompt text and decoded images, as the published server makes them."""
    images = [image.load() for image in from_predict(request.images)]
    messages = [{"role": turn["role"], "content": split_marks(turn["content"])} for turn in request.turns]
    return model.processor.apply_chat_template(messages, add_generation_prompt=True).strip(), images


class Given(LogitsProcessor):
    """Has every row say its recorded reply."""

    def __init__(self, recorded: Sequence[Recorded], prompt_length: int):
        self.recorded, self.prompt_length = recorded, prompt_length

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        number = input_ids.shape[1] - self.prompt_length
        choices = scores.argmax(-1).tolist()
        said = [one.say(number, choice) for one, choice in zip(self.recorded, choices, strict=True)]
        scores = torch.full_like(scores, -torch.inf)
        scores[torch.arange(len(said)), said] = 0.0
        return scores


def generate(model: VisionLanguageModel, inputs: Any, recorded: Sequence[Recorded]) -> None:
    """One `generate` for a batch; it ends when every row has said its end token."""
    inputs = inputs.to(model.device)
    length = {"min_new_tokens": _MIN_NEW_TOKENS, "max_new_tokens": _MAX_NEW_TOKENS}
    given = [Given(recorded, inputs["input_ids"].shape[1])]
    model.hf_model.generate(**inputs, do_sample=False, eos_token_id=model.eos_ids, logits_processor=given, **length)


class Published:
    """OpenWebVoyager's `hf_online_server.py`: the processor and one `generate` per request, in FastAPI's threads."""

    def __init__(self, model: VisionLanguageModel):
        self.model = model
        self._threads = threading.Semaphore(_THREADS)

    def answer(self, request: Request) -> list[int]:
        """What the model would have said itself, token by token."""
        with self._threads:
            text, images = read(self.model, request)
            inputs = self.model.processor(text=[text], images=[images], return_tensors="pt")
            recorded = Recorded(request.reply_ids)
            generate(self.model, inputs, [recorded])
            return recorded.own

    def stop(self) -> None:
        """Nothing runs between requests."""


class MicroBatching:
    """A queue, and workers that take what came within a window, pad it and `generate` until the longest reply ends."""

    def __init__(self, model: VisionLanguageModel, num_workers: int, max_batch_size: int, window_s: float = 0.015):
        self.model, self.max_batch_size, self.window_s = model, max_batch_size, window_s
        self._queue: queue.Queue[tuple[Request, str, list[Image.Image], Future] | None] = queue.Queue()
        self._threads = [threading.Thread(target=self._work, daemon=True) for _ in range(num_workers)]
        for thread in self._threads:
            thread.start()

    def answer(self, request: Request) -> list[int]:
        """What the model would have said itself, token by token."""
        future: Future[list[int]] = Future()
        self._queue.put((request, *read(self.model, request), future))
        return future.result()

    def stop(self) -> None:
        """End the workers."""
        for _ in self._threads:
            self._queue.put(None)
        for thread in self._threads:
            thread.join()

    def _work(self) -> None:
        while (first := self._queue.get()) is not None:
            batch, closes = [first], time.monotonic() + self.window_s
            while len(batch) < self.max_batch_size and (left := closes - time.monotonic()) > 0:
                try:
                    item = self._queue.get(timeout=left)
                except queue.Empty:
                    break
                if item is None:
                    self._queue.put(None)
                    break
                batch.append(item)
            requests, texts, images, futures = zip(*batch, strict=True)
            try:
                inputs = self.model.processor(text=list(texts), images=list(images), padding=True, return_tensors="pt")
                recorded = [Recorded(request.reply_ids) for request in requests]
                generate(self.model, inputs, recorded)
                for one, future in zip(recorded, futures, strict=True):
                    future.set_result(one.own)
            except Exception as error:
                for future in futures:
                    future.set_exception(error)
