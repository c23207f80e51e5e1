"""Tokenizers as Qwen3-VL's and SmolVLM's, of our making: as many tokens, the special ones at the same ids."""

import functools
import json

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from tests.tiny.trained_bpe import train

_QWEN_PLAIN = 151643
_QWEN_WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_QWEN_SPECIAL = (
    *("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|object_ref_start|>", "<|object_ref_end|>", "<|box_start|>"),
    *("<|box_end|>", "<|quad_start|>", "<|quad_end|>", "<|vision_start|>", "<|vision_end|>", "<|vision_pad|>"),
    *("<|image_pad|>", "<|video_pad|>"),
)
_QWEN_ADDED = (  # no special ones to the tokenizer: they stay where a reply is decoded
    *("<tool_call>", "</tool_call>", "<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>", "<|fim_pad|>"),
    *("<|repo_name|>", "<|file_sep|>", "<tool_response>", "</tool_response>", "<think>", "</think>"),
)

_SMOLLM_PLAIN = 49152
_SMOLLM_FIRST = (
    *("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<repo_name>", "<reponame>", "<file_sep>", "<filename>"),
    *("<gh_stars>", "<issue_start>", "<issue_comment>", "<issue_closed>", "<jupyter_start>", "<jupyter_text>"),
    *("<jupyter_code>", "<jupyter_output>", "<jupyter_script>", "<empty_output>"),
)
_SMOLVLM_ADDED = (
    "<global-img>",
    *(f"<row_{row}_col_{column}>" for row in range(1, 7) for column in range(1, 7)),
    *("<fake_token_around_image>", "<image>"),
    *(f"<|reserved_special_token_{number}|>" for number in range(88)),
    "<end_of_utterance>",
)


def qwen3_vl() -> PreTrainedTokenizerFast:
    """151,669 tokens; the model has rows for 267 more."""
    tokenizer = Tokenizer.from_str(_qwen_text())
    tokenizer.add_special_tokens([AddedToken(token, normalized=False, special=True) for token in _QWEN_SPECIAL])
    tokenizer.add_tokens([AddedToken(token, normalized=False) for token in _QWEN_ADDED])
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        additional_special_tokens=list(_QWEN_SPECIAL[1:]),
        clean_up_tokenization_spaces=False,
    )


def smolvlm() -> PreTrainedTokenizerFast:
    """49,280 tokens, SmolLM2's and behind them those that stand around and for images."""
    tokenizer = Tokenizer.from_str(_smollm_text())
    tokenizer.add_special_tokens([AddedToken(token, normalized=False, special=True) for token in _SMOLVLM_ADDED])
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token="<|im_start|>",
        eos_token="<end_of_utterance>",
        pad_token="<|im_end|>",
        unk_token="<|endoftext|>",
        additional_special_tokens=["<fake_token_around_image>", "<image>", "<end_of_utterance>"],
        clean_up_tokenization_spaces=False,
    )


@functools.cache
def _qwen_text() -> str:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    words = pre_tokenizers.Split(Regex(_QWEN_WORDS), "isolated")
    return _trained(tokenizer, words, pre_tokenizers.ByteLevel(False, use_regex=False), _QWEN_PLAIN, ())


@functools.cache
def _smollm_text() -> str:
    digits = pre_tokenizers.Digits(individual_digits=True)
    return _trained(Tokenizer(models.BPE()), digits, pre_tokenizers.ByteLevel(False), _SMOLLM_PLAIN, _SMOLLM_FIRST)


def _trained(
    tokenizer: Tokenizer,
    cut: pre_tokenizers.PreTokenizer,
    bytes_: pre_tokenizers.PreTokenizer,
    size: int,
    first: tuple[str, ...],
) -> str:
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([cut, bytes_])
    tokenizer.decoder = decoders.ByteLevel()
    return json.dumps(train(tokenizer, size, list(first), sorted(pre_tokenizers.ByteLevel.alphabet())))
