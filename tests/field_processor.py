"""A processor folder as idefics2-8b's, of our own making: the same kinds, sizes and token ids, another vocabulary.

Its tokenizer works as Mistral's, Vicuna's and Yi's do: spaces are `▁`, and what is in no merge becomes bytes such as
`<0x0A>`. The 32,000 tokens are special tokens, bytes, ASCII, a few hundred merges, and names that occur nowhere.
"""

import json
from pathlib import Path

from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

_SPECIAL = {0: "<unk>", 1: "<s>", 2: "</s>"}
_IDEFICS2 = {32000: "<fake_token_around_image>", 32001: "<image>", 32002: "<end_of_utterance>"}
_TEXT = """User: Assistant: OBSERVATION: Thought: I should click the link, type into the textbox and scroll down.
Action: Click [12] Action: Type [6]; red lamp Action: Scroll [WINDOW]; down Action: Wait Action: GoBack Action: Restart
Action: ANSWER; the price is 24.50 (accessibility tree omitted). screenshot omitted, accessibility tree omitted.
[1] RootWebArea 'Shop' focused: True [2] link 'Home' [3] button 'Search' [4] StaticText 'Results' [5] heading 'Offers'
Find the cheapest book, train, lamp, recipe or flight and tell me its name, author, date, address and rating."""


def write_processor(folder: Path) -> Path:
    """As transformers 4.39 left it: no chat template, images split unless told otherwise."""
    folder.mkdir()
    _make_tokenizer().save(str(folder / "tokenizer.json"))
    mean = [0.5, 0.5, 0.5]
    files = {
        "tokenizer_config": {
            **{"tokenizer_class": "LlamaTokenizer", "processor_class": "Idefics2Processor", "legacy": False},
            **{"unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>", "pad_token": "<unk>"},
            **{"add_bos_token": True, "add_eos_token": False, "clean_up_tokenization_spaces": False},
            "additional_special_tokens": list(_IDEFICS2.values()),
            "added_tokens_decoder": {
                str(index): {"content": token, "special": True, "normalized": False}
                for index, token in (_SPECIAL | _IDEFICS2).items()
            },
        },
        "processor_config": {"image_seq_len": 64, "processor_class": "Idefics2Processor"},
        "preprocessor_config": {
            **{"image_processor_type": "Idefics2ImageProcessor", "processor_class": "Idefics2Processor"},
            **{"do_convert_rgb": True, "do_image_splitting": True, "do_normalize": True, "do_pad": True},
            **{"do_rescale": True, "do_resize": True, "image_mean": mean, "image_std": mean, "resample": 2},
            **{"rescale_factor": 1 / 255, "size": {"longest_edge": 980, "shortest_edge": 378}},
        },
        "config": {
            **{
                "architectures": ["Idefics2ForConditionalGeneration"],
                "model_type": "idefics2",
                "image_token_id": 32001,
            },
            "text_config": {"model_type": "mistral", "pad_token_id": 0, "vocab_size": 32003},
            "vision_config": {"model_type": "idefics2", "hidden_size": 1152, "image_size": 980, "patch_size": 14},
        },
    }
    for name, content in files.items():
        (folder / f"{name}.json").write_text(json.dumps(content, indent=2))
    return folder


def _make_tokenizer() -> Tokenizer:
    trained = json.loads(_train().to_str())["model"]
    pieces = [*_SPECIAL.values(), *(f"<0x{byte:02X}>" for byte in range(256)), "▁", *map(chr, range(33, 127))]
    pieces += [piece for piece in trained["vocab"] if piece not in set(pieces)]
    pieces += [f"<unused{number}>" for number in range(len(pieces), min(_IDEFICS2))]
    vocabulary = {piece: index for index, piece in enumerate(pieces)}
    merges = [tuple(merge) for merge in trained["merges"]]
    tokenizer = Tokenizer(models.BPE(vocabulary, merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    added = [AddedToken(token, special=True, normalized=False) for token in (_SPECIAL | _IDEFICS2).values()]
    tokenizer.add_special_tokens(added)
    return tokenizer


def _train() -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.Replace(" ", "▁")
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex("▁?[A-Za-z]+"), "isolated")
    tokenizer.train_from_iterator(_TEXT.split("\n"), trainers.BpeTrainer(vocab_size=500, show_progress=False))
    return tokenizer
