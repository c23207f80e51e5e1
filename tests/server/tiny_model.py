"""A tiny real idefics2 policy with random weights, built from config and saved as a Hugging Face folder."""

from pathlib import Path

import torch
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import (
    Idefics2Config,
    Idefics2ForConditionalGeneration,
    Idefics2ImageProcessorPil,
    Idefics2Processor,
    PreTrainedTokenizerFast,
)

from models.idefics2.chat_template import CHAT_TEMPLATE

SPECIAL_TOKENS = ["<unk>", "<s>", "</s>", "<fake_token_around_image>", "<image>", "<end_of_utterance>"]
NUM_LATENTS = 8


def save_tiny_idefics2(folder: Path, hidden: int = 64, num_layers: int = 2, sliding_window: int | None = None) -> Path:
    """Save model and processor into `folder` and return it."""
    torch.manual_seed(0)
    tokenizer = make_tokenizer()
    config = Idefics2Config(
        image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
        tie_word_embeddings=True,
        text_config={
            "model_type": "mistral",
            "vocab_size": len(tokenizer),
            "hidden_size": hidden,
            "intermediate_size": 2 * hidden,
            "num_hidden_layers": num_layers,
            "num_attention_heads": 4,
            "num_key_value_heads": 4,
            "head_dim": hidden // 4,
            "max_position_embeddings": 4096,
            "rope_parameters": {"rope_type": "default", "rope_theta": 1e6},
            "sliding_window": sliding_window,
            "initializer_range": 0.1,
            "pad_token_id": 0,
            "bos_token_id": 1,
            "eos_token_id": 2,
            "tie_word_embeddings": True,
        },
        vision_config={
            "hidden_size": 64,
            "intermediate_size": 192,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "image_size": 224,
            "patch_size": 16,
        },
        perceiver_config={
            "hidden_size": hidden,
            "resampler_n_latents": NUM_LATENTS,
            "resampler_depth": 1,
            "resampler_n_heads": 4,
            "resampler_head_dim": 32,
            "num_key_value_heads": 2,
        },
    )
    model = Idefics2ForConditionalGeneration(config)
    with torch.no_grad():
        model.model.connector.perceiver_resampler.latents.normal_()  # Hugging Face starts them all equal
    model.generation_config.eos_token_id = [2, tokenizer.convert_tokens_to_ids("<end_of_utterance>")]
    model.generation_config.pad_token_id = 0
    images = Idefics2ImageProcessorPil(do_image_splitting=False, size={"longest_edge": 224, "shortest_edge": 86})
    processor = Idefics2Processor(images, tokenizer, image_seq_len=NUM_LATENTS, chat_template=CHAT_TEMPLATE)
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


def make_tokenizer() -> PreTrainedTokenizerFast:
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    pieces = Regex(r"\p{N}{1,3}|\p{L}+|[^\s\p{L}\p{N}]+|\s")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(pieces, "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=600,
        special_tokens=SPECIAL_TOKENS,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    words = "OBSERVATION Thought Action Click Type Scroll link button textbox StaticText screenshot accessibility"
    tokenizer.train_from_iterator([words] * 4, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
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
