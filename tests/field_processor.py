"""A processor folder as idefics2-8b's, of our own making: the same kinds, sizes and token ids, another vocabulary."""

import json
from pathlib import Path

from tokenizers import AddedToken

from tests.tiny.mistral_tokenizer import own

_SPECIAL = {0: "<unk>", 1: "<s>", 2: "</s>"}
_IDEFICS2 = {32000: "<fake_token_around_image>", 32001: "<image>", 32002: "<end_of_utterance>"}


def write_processor(folder: Path) -> Path:
    """As transformers 4.39 left it: no chat template, images split unless told otherwise."""
    folder.mkdir()
    tokenizer = own()
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in _IDEFICS2.values()])
    tokenizer.save(str(folder / "tokenizer.json"))
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
