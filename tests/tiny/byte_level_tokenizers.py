"""A tokenizer as SmolVLM's, of our making: as many tokens, the special ones at the same ids."""

import functools
import json

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from tests.tiny.trained_bpe import train

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
def _smollm_text() -> str:
    tokenizer = Tokenizer(models.BPE())
    digits, words = pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([digits, words])
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    return json.dumps(train(tokenizer, _SMOLLM_PLAIN, list(_SMOLLM_FIRST), alphabet))
