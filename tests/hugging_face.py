"""What Hugging Face's own model says of a reply, without any code of ours."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from PIL import Image
from transformers import AutoModelForImageTextToText, AutoProcessor


class Reference:
    """A checkpoint in float32 on the CPU."""

    def __init__(self, folder: Path):
        self.processor = AutoProcessor.from_pretrained(folder)
        self.model = AutoModelForImageTextToText.from_pretrained(folder, dtype=torch.float32).eval()

    @torch.inference_mode()
    def logprobs(self, texts: Sequence[str], images: Sequence[Image.Image], answer: str) -> list[float]:
        """Log-probabilities of the tokens of `answer`, with its end token, as the reply to the conversation `texts`:
        user and assistant in turn, the user last, one `<image>` for each of `images`."""
        chat = [{"role": ("user", "assistant")[n % 2], "content": _content(text)} for n, text in enumerate(texts)]
        prompt = self._inputs(chat, images, add_generation_prompt=True)["input_ids"][0].tolist()
        reply = {"role": "assistant", "content": [{"type": "text", "text": answer}]}
        whole = self._inputs([*chat, reply], images, add_generation_prompt=False)
        ids = whole["input_ids"][0]
        assert ids[: len(prompt)].tolist() == prompt
        logprobs = self.model(**whole).logits[0].log_softmax(-1)
        return logprobs[len(prompt) - 1 : -1].gather(1, ids[len(prompt) :, None])[:, 0].tolist()

    def _inputs(self, chat: list[dict[str, Any]], images: Sequence[Image.Image], add_generation_prompt: bool) -> Any:
        text = self.processor.apply_chat_template(chat, add_generation_prompt=add_generation_prompt).rstrip("\n")
        return self.processor(text=[text], images=[list(images)] if images else None, return_tensors="pt")


def _content(text: str) -> list[dict[str, str]]:
    """`text` cut at its `<image>` marks, as chat templates take it."""
    first, *rest = text.split("<image>")
    parts = [{"type": "text", "text": first}]
    for part in rest:
        parts += [{"type": "image"}, {"type": "text", "text": part}]
    return [part for part in parts if part.get("text") != ""]
