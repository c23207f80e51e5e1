"""Vision-language model: a Hugging Face checkpoint folder as the few operations that the engine needs.

Image in, features out; prompt in, logits and cache out; one decode step for all running sequences. Works for idefics2,
LLaVA and LLaVA-NeXT: all of them put image features where their `<image>` tokens stand.
"""

import dataclasses
import hashlib
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from PIL import Image
from transformers import AutoModelForImageTextToText, AutoProcessor, BatchFeature, DynamicCache
from transformers.utils import logging

from data.errors import UserError
from server.kv_slots import KVSlots

# What Idefics2 checkpoints of transformers 4.40 relied on: the class default that is gone in 5.x.
IDEFICS2_CHAT_TEMPLATE = (
    "{% for message in messages %}{{ message['role'].capitalize() }}"
    "{% if message['content'][0]['type'] == 'image' %}{{ ':' }}{% else %}{{ ': ' }}{% endif %}"
    "{% for part in message['content'] %}"
    "{% if part['type'] == 'text' %}{{ part['text'] }}{% elif part['type'] == 'image' %}{{ '<image>' }}{% endif %}"
    "{% endfor %}<end_of_utterance>\n{% endfor %}{% if add_generation_prompt %}{{ 'Assistant:' }}{% endif %}"
)

_BLOCK = 2**20


@dataclasses.dataclass(frozen=True)
class LoadOptions:
    """How a checkpoint is loaded; `None` and "auto" leave it to the checkpoint and the machine."""

    device: str = "auto"
    dtype: str = "auto"
    attn_implementation: str = "sdpa"
    image_size: int | None = None
    do_image_splitting: bool | None = None


class VisionLanguageModel:
    """A loaded checkpoint. `encode_image`, `prefill` and `decode` belong to one thread; the rest may run in any."""

    def __init__(self, folder: Path, options: LoadOptions):
        logging.set_verbosity_error()
        logging.disable_progress_bar()
        self.device = _device(options.device)
        self.processor = load_processor(folder, options)
        self._tokenizing = threading.Lock()  # a fast tokenizer refuses to be set up by two threads at once
        self.hf_model = _load_model(folder, self.device, options)
        self._text_model = self.hf_model.get_decoder()
        config, generation = self.hf_model.config, self.hf_model.generation_config
        self.sliding_window: int | None = getattr(config.get_text_config(), "sliding_window", None)
        self.context_length: int = config.get_text_config().max_position_embeddings
        self.image_token_id: int = config.image_token_id
        self.eos_ids = _eos_ids(self.processor.tokenizer, generation)
        self.banned_ids = [word[0] for word in generation.bad_words_ids or [] if len(word) == 1]
        self.weights_version = f"{folder.resolve().name}@{fingerprint(folder)}"

    def pixels(self, image: Image.Image) -> BatchFeature:
        """Resize and normalise one RGB image as the checkpoint's processor says."""
        return self.processor.image_processor([image], return_tensors="pt")

    def prompt_ids(self, messages: list[dict[str, Any]]) -> list[int]:
        """Token ids of a conversation whose content is a list of {"type": "text" | "image"} parts."""
        text = self.processor.apply_chat_template(messages, add_generation_prompt=True, tokenize=False).strip()
        # Idefics2's processor spells the image tokens out in the text; LLaVA's would want the images for that.
        tokenize = self.processor if self.hf_model.config.model_type == "idefics2" else self.processor.tokenizer
        with self._tokenizing:
            return tokenize(text=[text])["input_ids"][0]

    def decode_text(self, token_ids: Sequence[int]) -> str:
        """The text of a reply, without special tokens."""
        return self.processor.tokenizer.decode(token_ids, skip_special_tokens=True).strip()

    def encode_image(self, pixels: BatchFeature) -> torch.Tensor:
        """[image_tokens, hidden] features that stand for one image in the language model's input."""
        pixels = pixels.to(self.device, self.hf_model.dtype)
        features = self.hf_model.get_image_features(**pixels, return_dict=True).pooler_output
        return torch.cat([feature.reshape(-1, feature.shape[-1]) for feature in features])

    def prefill(self, prompt_ids: Sequence[int], features: Sequence[torch.Tensor]) -> tuple[torch.Tensor, DynamicCache]:
        """Read one prompt; `features` fill its `<image>` tokens in order. Returns logits [1, vocab] and the cache."""
        ids = torch.tensor([prompt_ids], device=self.device)
        embeddings = self.hf_model.get_input_embeddings()(ids)
        if features:
            embeddings[ids == self.image_token_id] = torch.cat(list(features))
        cache = DynamicCache()
        hidden = self._text_model(inputs_embeds=embeddings, past_key_values=cache, use_cache=True).last_hidden_state
        return self._logits(hidden[:, -1]), cache

    def decode(self, token_ids: Sequence[int], slots: KVSlots) -> torch.Tensor:
        """Append one token to every sequence in `slots`; returns the next logits [rows, vocab]."""
        position_ids, mask = slots.begin_step(self.sliding_window)
        embeddings = self.hf_model.get_input_embeddings()(torch.tensor(token_ids, device=self.device)[:, None])
        hidden = self._text_model(
            inputs_embeds=embeddings,
            attention_mask=mask,
            position_ids=position_ids,
            past_key_values=slots,
            use_cache=True,
        ).last_hidden_state
        return self._logits(hidden[:, -1])

    def _logits(self, hidden: torch.Tensor) -> torch.Tensor:
        logits = self.hf_model.get_output_embeddings()(hidden).float()
        logits[:, self.banned_ids] = -torch.inf
        return logits


def fill_image_tokens(prompt_ids: Sequence[int], image_token_id: int, feature_lengths: Sequence[int]) -> list[int]:
    """One `<image>` token for each feature row.

    Idefics2's processor writes them all into the text; LLaVA's leave one per image, to be repeated here.
    """
    found = sum(token == image_token_id for token in prompt_ids)
    if found == sum(feature_lengths):
        return list(prompt_ids)
    if found != len(feature_lengths):
        raise UserError(f"the prompt has {found} image tokens for {sum(feature_lengths)} image features")
    lengths = iter(feature_lengths)
    filled: list[int] = []
    for token in prompt_ids:
        filled.extend([token] * (next(lengths) if token == image_token_id else 1))
    return filled


def fingerprint(folder: Path) -> str:
    """12 hex digits that change when the weights do: a hash of each safetensors file, or of 64 MiB spread over it."""
    digest = hashlib.sha256()
    for path in sorted(folder.glob("*.safetensors")):
        size = path.stat().st_size
        digest.update(f"{path.name} {size}\n".encode())
        with open(path, "rb") as file:
            for offset in range(0, size, max(_BLOCK, size // 64)):
                file.seek(offset)
                digest.update(file.read(_BLOCK))
    return digest.hexdigest()[:12]


def _device(name: str) -> torch.device:
    if name == "auto":
        return torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        raise UserError(f"--device {name}: not usable here ({str(error).splitlines()[0]})") from None
    return device


def load_processor(folder: Path, options: LoadOptions) -> Any:
    """The checkpoint's processor, with what `options` change."""
    try:
        processor = AutoProcessor.from_pretrained(folder, local_files_only=True)
    except Exception as error:  # transformers raises many kinds; to the user they all mean a folder that is not whole
        raise UserError(f"{folder}: its processor does not load ({_first_line(error)})") from None
    images = processor.image_processor
    if processor.chat_template is None:
        processor.chat_template = IDEFICS2_CHAT_TEMPLATE
    if options.image_size is not None:
        if "longest_edge" not in dict(images.size):
            raise UserError("--image_size: this model's processor has no longest and shortest edge to set")
        images.size = type(images.size)(longest_edge=options.image_size, shortest_edge=options.image_size)
    if options.do_image_splitting is not None:
        images.do_image_splitting = options.do_image_splitting
    return processor


def _load_model(folder: Path, device: torch.device, options: LoadOptions) -> Any:
    dtype = options.dtype
    if dtype == "auto" and device.type == "cpu":
        dtype = "float32"  # bfloat16 decodes slower on CPUs
    try:
        model, report = AutoModelForImageTextToText.from_pretrained(
            folder,
            dtype=dtype if dtype == "auto" else getattr(torch, dtype),
            attn_implementation=options.attn_implementation,
            local_files_only=True,
            use_safetensors=True,
            output_loading_info=True,
        )
    except Exception as error:
        raise UserError(f"{folder}: its weights do not load ({_first_line(error)})") from None
    if report["missing_keys"]:
        missing = sorted(report["missing_keys"])
        raise UserError(f"{folder}: {len(missing)} weights are missing, such as {missing[0]}")
    return model.to(device).eval()


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def _eos_ids(tokenizer: Any, generation: Any) -> list[int]:
    """`</s>`, `<end_of_utterance>` and whatever else the checkpoint's generation config ends a reply with."""
    listed = generation.eos_token_id
    ids = set(listed if isinstance(listed, list) else [] if listed is None else [listed])
    ids.add(tokenizer.eos_token_id)
    ids.add(tokenizer.get_vocab().get("<end_of_utterance>"))
    return sorted(ids - {None})
