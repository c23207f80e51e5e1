"""A tiny idefics2 with random weights, its processor and data for it: the shape of the quickstart's policy."""

import dataclasses
import io
import os
import random
import sys
from pathlib import Path

import torch
from PIL import Image
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import (
    Idefics2Config,
    Idefics2ForConditionalGeneration,
    Idefics2ImageProcessorPil,
    Idefics2Processor,
    PreTrainedTokenizerFast,
)

from data.shard import Sample, write_shards
from tests.conftest import ROOT
from toolkits.energon_index import write_energon_index
from training.config import Config

NUM_LATENTS = 8
_SPECIAL = ["<unk>", "<s>", "</s>", "<fake_token_around_image>", "<image>", "<end_of_utterance>"]
_CHAT_TEMPLATE = (
    "{% for message in messages %}{{message['role'].capitalize()}}"
    "{% if message['content'][0]['type'] == 'image' %}{{':'}}{% else %}{{': '}}{% endif %}"
    "{% for line in message['content'] %}{% if line['type'] == 'text' %}{{line['text']}}"
    "{% elif line['type'] == 'image' %}{{ '<image>' }}{% endif %}{% endfor %}<end_of_utterance>\n{% endfor %}"
    "{% if add_generation_prompt %}{{ 'Assistant:' }}{% endif %}"
)
_WORDS = "shop cart search button link textbox flight Berlin winter boots price stock review page next 42 17".split()


def build_policy(
    folder: Path,
    vocab_size: int = 512,
    hidden: int = 64,
    layers: int = 4,
    heads: int = 4,
    kv_heads: int = 2,
    tied: bool = True,
    sliding_window: int | None = None,
    image_size: int = 112,
    perceiver_kv_heads: int = 2,
) -> Path:
    """Write a random idefics2 in fp32 with its processor to `folder`."""
    tokenizer = make_tokenizer(vocab_size)
    torch.manual_seed(0)
    config = Idefics2Config(
        image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
        tie_word_embeddings=tied,
        text_config={
            "model_type": "mistral",
            "vocab_size": len(tokenizer),
            "hidden_size": hidden,
            "intermediate_size": 2 * hidden,
            "num_hidden_layers": layers,
            "num_attention_heads": heads,
            "num_key_value_heads": kv_heads,
            "head_dim": hidden // heads,
            "max_position_embeddings": 8192,
            "rms_norm_eps": 1e-5,
            "rope_parameters": {"rope_type": "default", "rope_theta": 1e6},
            "sliding_window": sliding_window,
            "pad_token_id": 0,
            "bos_token_id": 1,
            "eos_token_id": 2,
            "tie_word_embeddings": tied,
        },
        vision_config={
            "hidden_size": 64,
            "intermediate_size": 128,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "image_size": image_size,
            "patch_size": 16,
        },
        perceiver_config={
            "hidden_size": hidden,
            "rms_norm_eps": 1e-5,
            "resampler_n_latents": NUM_LATENTS,
            "resampler_depth": 1,
            "resampler_n_heads": 4,
            "resampler_head_dim": 32,
            "num_key_value_heads": perceiver_kv_heads,
        },
    )
    model = Idefics2ForConditionalGeneration(config)
    with torch.no_grad():
        model.model.connector.perceiver_resampler.latents.normal_()  # Hugging Face makes all latents equal
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.02)  # norms and biases too, so that a mix-up shows
            parameter.copy_(parameter.bfloat16())  # fp32 and bf16 are compared on the same weights
    image_processor = Idefics2ImageProcessorPil(
        do_image_splitting=False, size={"longest_edge": image_size, "shortest_edge": image_size * 378 // 980}
    )
    processor = Idefics2Processor(image_processor, tokenizer, image_seq_len=NUM_LATENTS, chat_template=_CHAT_TEMPLATE)
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


def make_tokenizer(vocab_size: int) -> PreTrainedTokenizerFast:
    """Byte-level BPE with spaces as tokens of their own."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    split = pre_tokenizers.Split(Regex(r"\p{N}{1,3}|\p{L}+|[^\s\p{L}\p{N}]+|\s"), "isolated")
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, byte_level])
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size, special_tokens=_SPECIAL, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()
    )
    tokenizer.train_from_iterator([text(random.Random(seed), 50) for seed in range(50)], trainer)
    tokenizer.add_tokens([f"filler{index}" for index in range(vocab_size - tokenizer.get_vocab_size())])
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        unk_token="<unk>",
        bos_token="<s>",
        eos_token="</s>",
        pad_token="<unk>",
        additional_special_tokens=_SPECIAL[3:],
        clean_up_tokenization_spaces=False,
    )


def text(rng: random.Random, num_words: int) -> str:
    """Words of a small vocabulary, a few on each line."""
    return "".join(rng.choice(_WORDS) + rng.choice([" ", " ", "\n\t"]) for _ in range(num_words))


def picture(rng: random.Random, width: int, height: int) -> bytes:
    """A PNG of one colour with a rectangle of another."""
    image = Image.new("RGB", (width, height), tuple(rng.randrange(256) for _ in range(3)))
    image.paste(tuple(rng.randrange(256) for _ in range(3)), (width // 4, height // 4, width // 2, height // 2))
    file = io.BytesIO()
    image.save(file, "PNG")
    return file.getvalue()


def open_picture(encoded: bytes) -> Image.Image:
    """What a sample's image shows."""
    return Image.open(io.BytesIO(encoded)).convert("RGB")


def sample(index: int, num_steps: int = 1, num_words: int = 60, with_images: bool = True) -> Sample:
    """One conversation of `num_steps` observations and replies, the newest with a tree; image sizes differ."""
    rng = random.Random(index)
    conversations, images = [], []
    for step in range(num_steps):
        newest = step == num_steps - 1
        mark = "<image>" if with_images else "no screenshot"
        tree = f"{mark}\n{text(rng, num_words)}" if newest else f"{mark} (accessibility tree omitted)."
        question = f"Find {text(rng, 3)}\n" if step == 0 else ""
        conversations.append({"from": "human", "value": f"{question}OBSERVATION:\n{tree}"})
        conversations.append({"from": "gpt", "value": f"Thought: {text(rng, 8)}\nAction: Click [{rng.randrange(99)}]"})
        if with_images:
            images.append(picture(rng, *rng.choice([(64, 48), (96, 96), (40, 90)])))
    return Sample(f"task--{index:05d}--step{num_steps:02d}", conversations, images)


def build_dataset(folder: Path, samples: list[Sample] | None = None, share_images: bool = False) -> Path:
    """Shards, with energon's index, of `samples`; by default 24 of 1 to 3 steps, every fifth without an image."""
    folder.mkdir(parents=True)
    samples = samples or [sample(index, num_steps=1 + index % 3, with_images=index % 5 != 4) for index in range(24)]
    manifest = write_shards(folder, samples, max_samples=10, source={}, share_images=share_images)
    write_energon_index(folder, [shard["url"] for shard in manifest["shards"]])
    return folder


def environment(**variables: str) -> dict[str, str]:
    """For a child process: this Python, one thread, and none of this machine's training options."""
    options = {field.name.upper() for field in dataclasses.fields(Config)}
    inherited = {name: value for name, value in os.environ.items() if name not in options}
    return {**inherited, "PYTHON": sys.executable, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", **variables}
