"""Tokenizers of the released models: OpenWebVoyager's own where its files are at hand, else one of our making that has
as many tokens and the same special ones at the same ids."""

import functools
import json

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

from examples.quickstart.starting_policy.policy import fast_tokenizer
from tests.conftest import FIXTURES
from tests.tiny.trained_bpe import train

NUM_PLAIN = 32000
"""Tokens of Mistral's vocabulary; what a model adds comes behind."""
RELEASED = FIXTURES / "hf_processor"

_FIRST = ("<unk>", "<s>", "</s>")


def make_tokenizer(added: tuple[str, ...]) -> PreTrainedTokenizerFast:
    """Mistral's 32000 tokens and then `added`, from id 32000 on."""
    tokenizer = _released() if RELEASED.is_dir() else own()
    tokenizer.add_special_tokens([AddedToken(token, normalized=False, special=True) for token in added])
    assert [tokenizer.token_to_id(token) for token in added] == list(range(NUM_PLAIN, NUM_PLAIN + len(added)))
    return fast_tokenizer(tokenizer, list(added))


def _released() -> Tokenizer:
    """Mistral's own, without what idefics2 adds to it."""
    fields = json.loads((RELEASED / "tokenizer.json").read_text())
    fields["added_tokens"] = [token for token in fields["added_tokens"] if token["id"] < NUM_PLAIN]
    return Tokenizer.from_str(json.dumps(fields))


@functools.cache
def _own_text() -> str:
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r"▁?\p{L}+|\p{N}|▁?[^▁\s\p{L}\p{N}]+|▁|\s"), "isolated")
    alphabet = ["▁", *(chr(code) for code in range(33, 127))]
    special = [*_FIRST, *(f"<0x{byte:02X}>" for byte in range(256))]
    fields = train(tokenizer, NUM_PLAIN, special, alphabet)
    fields["pre_tokenizer"] = None  # as Mistral's; no merge crosses the pieces it was trained on
    fields["model"] |= {"byte_fallback": True, "fuse_unk": True}
    fields["added_tokens"] = [token for token in fields["added_tokens"] if token["content"] in _FIRST]
    return json.dumps(fields)


def own() -> Tokenizer:
    """Works as Mistral's, Vicuna's and Yi's do: spaces are `▁`, and what is in no merge becomes bytes as `<0x0A>`."""
    tokenizer = Tokenizer.from_str(_own_text())
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    return tokenizer
