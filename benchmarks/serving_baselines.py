"""What the serving benchmark compares with: the published server's logic, and fixed-window micro-batching."""

import dataclasses
import queue
import threading
import time
from concurrent.futures import Future
from typing import Any

import torch
from PIL import Image

from data.conversation import split_marks
from server.vision_language_model import VisionLanguageModel
from server.wire_images import from_predict


@dataclasses.dataclass(frozen=True)
class Request:
    """One `/predict` body, how many tokens its reply has, and whether it is the episode's last."""

    session: str
    turns: list[dict[str, str]]
    images: list[str]
    reply_tokens: int
    last: bool


def read(model: VisionLanguageModel, request: Request) -> tuple[str, list[Image.Image]]:
    """Prompt text and decoded images, as the published server makes them."""
    images = [image.load() for image in from_predict(request.images)]
    messages = [{"role": turn["role"], "content": split_marks(turn["content"])} for turn in request.turns]
    return model.processor.apply_chat_template(messages, add_generation_prompt=True).strip(), images


def generate(model: VisionLanguageModel, inputs: Any, num_tokens: int) -> list[list[int]]:
    """One `generate` for a batch."""
    inputs = inputs.to(model.device)
    length = {"min_new_tokens": num_tokens, "max_new_tokens": num_tokens}
    sequences = model.hf_model.generate(**inputs, do_sample=False, eos_token_id=model.eos_ids, **length)
    return sequences[:, inputs["input_ids"].shape[1] :].tolist()


class Published:
    """OpenWebVoyager's `hf_online_server.py`: the processor and one `generate` per request, in the caller's thread."""

    def __init__(self, model: VisionLanguageModel):
        self.model = model

    def answer(self, request: Request) -> list[int]:
        """The reply's token ids."""
        text, images = read(self.model, request)
        inputs = self.model.processor(text=[text], images=[images], return_tensors="pt")
        return generate(self.model, inputs, request.reply_tokens)[0]

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
        """The reply's token ids."""
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
                with torch.inference_mode():
                    replies = generate(self.model, inputs, max(request.reply_tokens for request in requests))
                for request, reply, future in zip(requests, replies, futures, strict=True):
                    future.set_result(reply[: request.reply_tokens])
            except Exception as error:
                for future in futures:
                    future.set_exception(error)
