"""The starting policy's parts: a small real Idefics2 model, its tokenizer, image processor and chat template."""

import random
from collections.abc import Iterator

import torch
from pages import ENGLISH, make_example
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import Idefics2Config, Idefics2ForConditionalGeneration, Idefics2Processor, PreTrainedTokenizerFast
from transformers.models.idefics2.image_processing_pil_idefics2 import Idefics2ImageProcessorPil

VOCAB_SIZE = 2048
NUM_LATENTS = 8
SPECIAL_TOKENS = ["<unk>", "<s>", "</s>", "<fake_token_around_image>", "<image>", "<end_of_utterance>"]

# Idefics2's own conversation form: "User: ...<end_of_utterance>\nAssistant: ...<end_of_utterance>\n".
CHAT_TEMPLATE = (
    "{% for message in messages %}{{ message['role'].capitalize() }}"
    "{% if message['content'][0]['type'] == 'image' %}{{ ':' }}{% else %}{{ ': ' }}{% endif %}"
    "{% for part in message['content'] %}{% if part['type'] == 'text' %}{{ part['text'] }}"
    "{% elif part['type'] == 'image' %}{{ '<image>' }}{% endif %}{% endfor %}<end_of_utterance>\n{% endfor %}"
    "{% if add_generation_prompt %}{{ 'Assistant:' }}{% endif %}"
)


def make_tokenizer(num_pages: int = 4000) -> PreTrainedTokenizerFast:
    """Byte-level BPE in which a space is a token of its own, so that a word is the same token after a quote, a space or
    a newline: a small model can then copy names. The numbers 0 to 99 are single tokens (element labels)."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    pattern = Regex(r"\p{N}{1,3}|\p{L}+|[^\s\p{L}\p{N}]+|\s")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(pattern, "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    numbers = [str(number) for number in range(10, 100)]
    trainer = trainers.BpeTrainer(
        vocab_size=VOCAB_SIZE - len(numbers),
        special_tokens=SPECIAL_TOKENS,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(_corpus(num_pages), trainer)
    tokenizer.add_tokens(numbers)
    missing = VOCAB_SIZE - tokenizer.get_vocab_size()
    if missing:  # numbers that BPE had already merged
        tokenizer.add_tokens([f"<unused_{index}>" for index in range(missing)])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A <s> $B", special_tokens=[("<s>", tokenizer.token_to_id("<s>"))]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        unk_token="<unk>",
        bos_token="<s>",
        eos_token="</s>",
        pad_token="<unk>",
        additional_special_tokens=SPECIAL_TOKENS[3:],
        padding_side="left",
        clean_up_tokenization_spaces=False,
    )


def _corpus(num_pages: int) -> Iterator[str]:
    rng = random.Random(77)
    for _ in range(num_pages):
        yield "\n".join(make_example(rng, max_elements=20).turns)
        words = rng.sample(ENGLISH, 40)
        yield " ".join(words + [word.capitalize() for word in words])


def make_processor(tokenizer: PreTrainedTokenizerFast) -> Idefics2Processor:
    """A 1024x768 screenshot becomes 160x120 pixels, 48 patches, `NUM_LATENTS` image tokens."""
    image_processor = Idefics2ImageProcessorPil(
        do_image_splitting=False, size={"longest_edge": 160, "shortest_edge": 120}
    )
    return Idefics2Processor(image_processor, tokenizer, image_seq_len=NUM_LATENTS, chat_template=CHAT_TEMPLATE)


def make_model(tokenizer: PreTrainedTokenizerFast) -> Idefics2ForConditionalGeneration:
    """About 2.6 M parameters; every architectural part of idefics2-8b is there, small."""
    text = dict(
        model_type="mistral",
        vocab_size=len(tokenizer),
        hidden_size=192,
        intermediate_size=384,
        num_hidden_layers=4,
        num_attention_heads=4,
        num_key_value_heads=4,
        head_dim=48,
        max_position_embeddings=8192,
        rms_norm_eps=1e-5,
        sliding_window=None,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        tie_word_embeddings=True,
        rope_parameters={"rope_type": "default", "rope_theta": 1e6},
    )
    vision = dict(
        hidden_size=64, intermediate_size=192, num_hidden_layers=2, num_attention_heads=2, image_size=160, patch_size=20
    )
    perceiver = dict(
        hidden_size=192,
        rms_norm_eps=1e-5,
        resampler_n_latents=NUM_LATENTS,
        resampler_depth=1,
        resampler_n_heads=4,
        resampler_head_dim=32,
        num_key_value_heads=2,
    )
    config = Idefics2Config(
        image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
        tie_word_embeddings=True,
        text_config=text,
        vision_config=vision,
        perceiver_config=perceiver,
    )
    model = Idefics2ForConditionalGeneration(config)
    with torch.no_grad():  # Hugging Face starts all latents at one: image tokens that cannot be told apart
        model.model.connector.perceiver_resampler.latents.normal_()
    end_of_utterance = tokenizer.convert_tokens_to_ids("<end_of_utterance>")
    model.generation_config.eos_token_id = [tokenizer.eos_token_id, end_of_utterance]
    model.generation_config.pad_token_id = tokenizer.pad_token_id
    model.generation_config.bos_token_id = tokenizer.bos_token_id
    return model
