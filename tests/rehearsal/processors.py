"""Processors as they are released, with the released tokenizer where its files are at hand, else one of our making that
has as many tokens and the same special ones at the same ids."""

import shutil
from pathlib import Path
from typing import Any

from transformers import (
    Idefics2ImageProcessorPil,
    Idefics2Processor,
    Idefics3Processor,
    LlavaNextImageProcessorPil,
    LlavaNextProcessor,
    ProcessorMixin,
)
from transformers.models.idefics3.image_processing_pil_idefics3 import Idefics3ImageProcessorPil
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

from models.idefics2.chat_template import CHAT_TEMPLATE as IDEFICS2_TEMPLATE
from models.qwen3_vl.chat_template import CHAT_TEMPLATE as QWEN3_VL_TEMPLATE
from models.qwen3_vl.processor import Qwen3VLProcessor
from tests.tiny import byte_level_tokenizers
from tests.tiny.mistral_tokenizer import RELEASED, make_tokenizer

_LLAVA_TEMPLATE = (  # of llava-v1.6-mistral-7b-hf: images first
    "{% for message in messages %}{% if message['role'] == 'user' %}{{ '[INST] ' }}"
    "{% for part in message['content'] | selectattr('type', 'equalto', 'image') %}{{ '<image>\n' }}{% endfor %}"
    "{% for part in message['content'] | selectattr('type', 'equalto', 'text') %}{{ part['text'] }}{% endfor %}"
    "{{ ' [/INST]' }}{% elif message['role'] == 'assistant' %}{{ ' ' + message['content'][0]['text'] + '</s> ' }}"
    "{% else %}{{ raise_exception('Only user and assistant roles are supported!') }}{% endif %}{% endfor %}"
)


def write_processor(folder: Path, fields: dict[str, Any]) -> None:
    """To `folder`, that of the model whose config.json holds `fields`."""
    makers = {"idefics2": _idefics2, "idefics3": _smolvlm, "llava_next": _llava_next, "qwen3_vl": _qwen3_vl}
    if fields["model_type"] == "idefics2" and RELEASED.is_dir():
        _copy_released(folder)
    else:
        makers[fields["model_type"]](fields).save_pretrained(folder)


def _copy_released(folder: Path) -> None:
    for path in RELEASED.iterdir():
        if path.name not in ("config.json", "generation_config.json", "model.safetensors.index.json"):
            shutil.copyfile(path, folder / path.name)


def _idefics2(_: dict[str, Any]) -> ProcessorMixin:
    images = Idefics2ImageProcessorPil(size={"longest_edge": 980, "shortest_edge": 378}, do_image_splitting=True)
    tokenizer = make_tokenizer(("<fake_token_around_image>", "<image>", "<end_of_utterance>"))
    return Idefics2Processor(images, tokenizer, image_seq_len=64)


def _llava_next(fields: dict[str, Any]) -> ProcessorMixin:
    vision = fields["vision_config"]
    side = vision["image_size"]
    images = LlavaNextImageProcessorPil(
        size={"shortest_edge": side},
        crop_size={"height": side, "width": side},
        image_grid_pinpoints=fields["image_grid_pinpoints"],
    )
    return LlavaNextProcessor(
        images,
        make_tokenizer(("<image>", "<pad>")),
        patch_size=vision["patch_size"],
        vision_feature_select_strategy=fields["vision_feature_select_strategy"],
        num_additional_image_tokens=1,
        chat_template=_LLAVA_TEMPLATE,
    )


def _smolvlm(fields: dict[str, Any]) -> ProcessorMixin:
    """SmolVLM-256M's: a page of 1024 x 768 is scaled to four by three tiles, and once more as a whole."""
    tile = fields["vision_config"]["image_size"]
    images = Idefics3ImageProcessorPil(
        size={"longest_edge": 4 * tile}, max_image_size={"longest_edge": tile}, do_image_splitting=True
    )
    template = "<|im_start|>" + IDEFICS2_TEMPLATE
    return Idefics3Processor(images, byte_level_tokenizers.smolvlm(), image_seq_len=64, chat_template=template)


def _qwen3_vl(fields: dict[str, Any]) -> ProcessorMixin:
    vision = fields["vision_config"]
    images = Qwen2VLImageProcessorPil(
        patch_size=vision["patch_size"],
        temporal_patch_size=vision["temporal_patch_size"],
        merge_size=vision["spatial_merge_size"],
        image_mean=[0.5] * 3,
        image_std=[0.5] * 3,
        size={"shortest_edge": 2**16, "longest_edge": 2**24},  # pixels
    )
    return Qwen3VLProcessor(images, byte_level_tokenizers.qwen3_vl(), chat_template=QWEN3_VL_TEMPLATE)
