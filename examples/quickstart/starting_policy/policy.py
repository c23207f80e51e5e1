"""The parts of a small real Idefics2: its model, tokenizer and processor. The defaults are the starting policy's."""

from collections.abc import Iterable

import torch
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import Idefics2Config, Idefics2ForConditionalGeneration, Idefics2Processor, PreTrainedTokenizerFast
from transformers.models.idefics2.image_processing_pil_idefics2 import Idefics2ImageProcessorPil

from models.idefics2.chat_template import CHAT_TEMPLATE

NUM_LATENTS = 8
SPECIAL_TOKENS = ["<unk>", "<s>", "</s>", "<fake_token_around_image>", "<image>", "<end_of_utterance>"]


def make_tokenizer(texts: Iterable[str], vocab_size: int, whole: Iterable[str] = ()) -> PreTrainedTokenizerFast:
    """Byte-level BPE in which a space is a token of its own, so that a word is the same token after a quote, a space or
    a newline: a small model can then copy names. The words `whole` are single tokens."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    pattern = Regex(r"\p{N}{1,3}|\p{L}+|[^\s\p{L}\p{N}]+|\s")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(pattern, "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    whole = list(whole)
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size - len(whole),
        special_tokens=SPECIAL_TOKENS,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.add_tokens(whole)
    missing = vocab_size - tokenizer.get_vocab_size()
    tokenizer.add_tokens([f"<unused_{index}>" for index in range(missing)])  # BPE had some of `whole`, or few merges
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A <s> $B", special_tokens=[("<s>", tokenizer.token_to_id("<s>"))]
    )
    return fast_tokenizer(tokenizer, SPECIAL_TOKENS[3:])


def fast_tokenizer(tokenizer: Tokenizer, special_tokens: list[str]) -> PreTrainedTokenizerFast:
    """`tokenizer` as a model of Mistral's kind has it, with `special_tokens` besides <unk>, <s> and </s>."""
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        unk_token="<unk>",
        bos_token="<s>",
        eos_token="</s>",
        pad_token="<unk>",
        additional_special_tokens=special_tokens,
        padding_side="left",
        clean_up_tokenization_spaces=False,
    )


def make_processor(
    tokenizer: PreTrainedTokenizerFast, longest_edge: int = 160, shortest_edge: int = 120
) -> Idefics2Processor:
    """By default a 1024x768 screenshot becomes 160x120 pixels, 48 patches, `NUM_LATENTS` image tokens."""
    size = {"longest_edge": longest_edge, "shortest_edge": shortest_edge}
    images = Idefics2ImageProcessorPil(do_image_splitting=False, size=size)
    return Idefics2Processor(images, tokenizer, image_seq_len=NUM_LATENTS, chat_template=CHAT_TEMPLATE)


def make_model(
    tokenizer: PreTrainedTokenizerFast,
    hidden: int = 192,
    layers: int = 4,
    heads: int = 4,
    kv_heads: int = 4,
    tied: bool = True,
    sliding_window: int | None = None,
    initializer_range: float = 0.02,
    image_size: int = 160,
    patch_size: int = 20,
    vision_intermediate: int = 192,
    perceiver_kv_heads: int = 2,
) -> Idefics2ForConditionalGeneration:
    """By default about 2.6 M parameters; every architectural part of idefics2-8b is there, small."""
    text = dict(
        model_type="mistral",
        vocab_size=len(tokenizer),
        hidden_size=hidden,
        intermediate_size=2 * hidden,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=kv_heads,
        head_dim=hidden // heads,
        max_position_embeddings=8192,
        rms_norm_eps=1e-5,
        sliding_window=sliding_window,
        initializer_range=initializer_range,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        tie_word_embeddings=tied,
        rope_parameters={"rope_type": "default", "rope_theta": 1e6},
    )
    vision = dict(
        hidden_size=64,
        intermediate_size=vision_intermediate,
        num_hidden_layers=2,
        num_attention_heads=2,
        image_size=image_size,
        patch_size=patch_size,
    )
    perceiver = dict(
        hidden_size=hidden,
        rms_norm_eps=1e-5,
        resampler_n_latents=NUM_LATENTS,
        resampler_depth=1,
        resampler_n_heads=4,
        resampler_head_dim=32,
        num_key_value_heads=perceiver_kv_heads,
    )
    config = Idefics2Config(
        image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
        tie_word_embeddings=tied,
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
