"""How deep the rehearsed models are, and which of the published values differ.

Widths are the released models': idefics2-8b's and LLaVA's language model is 4096 wide, their towers 1152 and 1024;
Qwen3-VL-2B, -4B and -8B are 2048, 2560 and 4096 wide with 151,936 tokens, their towers 1024 and 1152; SmolVLM-256M is
whole. Training keeps 18 bytes of a parameter, and vision tower and connector are whole on every tensor-parallel rank:
idefics2's connector alone would take 10.4 GiB of them on two with one of its three resampler layers, the rows of tokens
of Qwen3-VL-8B 20.9 GiB. So most are trained in two runs on 24 GB, each of which leaves a part alone, in rows half as
long (SEQ_LEN=4096, which no sample fills either):

    idefics2        first everything but the connector, then everything but the language model
    Qwen3-VL-2B     the same; the second run also teaches the tower, which the published values leave alone
    Qwen3-VL-4B, 8B first everything but the language model, tower included, then adapters on the language model

SmolVLM's 9 heads are divided by 3 tensor-parallel ranks, not by 2.
"""

import dataclasses

from tests.rehearsal.checkpoints import Changes
from tests.rehearsal.stages import Size

_FEW = {"GLOBAL_BATCH_SIZE": "1", "TRAIN_ITERS": "2", "NUM_WORKERS": "1"}
_SHORT = {**_FEW, "SEQ_LEN": "4096"}
_ALL_BUT_LANGUAGE = {**_SHORT, "FREEZE_LANGUAGE": "true", "FREEZE_VISION": "false"}
_ADAPTERS = {**_SHORT, "LORA_RANK": "16", "FREEZE_VISION": "true", "FREEZE_CONNECTOR": "true"}


def _qwen3_vl(name: str, layers: int, depth: int, taps: list[int], trainings: tuple[dict[str, str], ...]) -> Size:
    vision = {"depth": depth, "deepstack_visual_indexes": taps}
    changes = {"text_config": {"num_hidden_layers": layers}, "vision_config": vision}
    return Size(f"qwen3-vl-{name}", "train_qwen3_vl.sh", changes, 1, trainings)


_FULL = {
    "idefics2": Size(
        shape="idefics2-8b",
        script="train_idefics2.sh",
        changes={
            "text_config": {"num_hidden_layers": 1},
            "vision_config": {"num_hidden_layers": 2},
            "perceiver_config": {"resampler_depth": 1},
        },
        num_tasks=2,
        trainings=({**_FEW, "FREEZE_CONNECTOR": "true"}, {**_SHORT, "FREEZE_LANGUAGE": "true"}),
    ),
    "llava_next": Size(
        shape="llava-v1.6-mistral-7b",
        script="train_llava_next.sh",
        changes={"text_config": {"num_hidden_layers": 1}, "vision_config": {"num_hidden_layers": 3}},
        num_tasks=1,
        trainings=({**_FEW, "SEQ_LEN": "8192"},),  # twice as long takes four times as long here
    ),
    "smolvlm_256m": Size(
        shape="smolvlm-256m",
        script="train_smolvlm.sh",
        changes={},
        num_tasks=1,
        trainings=({**_SHORT, "TRAIN_ITERS": "3"},),  # the last sample has three images, which --dry_run counts with
        tp=3,
    ),
    "qwen3_vl_2b": _qwen3_vl("2b", 4, 6, [1, 2, 4], ({**_SHORT, "FREEZE_CONNECTOR": "true"}, _ALL_BUT_LANGUAGE)),
    "qwen3_vl_4b": _qwen3_vl("4b", 3, 4, [0, 1, 3], (_ALL_BUT_LANGUAGE, _ADAPTERS)),
    "qwen3_vl_8b": _qwen3_vl("8b", 1, 2, [1], (_ALL_BUT_LANGUAGE, _ADAPTERS)),
}

_SIZES = {"hidden_size": 64, "intermediate_size": 192}
_TEXT = {**_SIZES, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16}
_TOWER = {**_SIZES, "num_hidden_layers": 3, "num_attention_heads": 4}
_PERCEIVER = {
    **{"hidden_size": 64, "resampler_depth": 1, "resampler_n_heads": 4, "resampler_head_dim": 16},
    "num_key_value_heads": 2,
}
_MROPE = {"mrope_interleaved": True, "mrope_section": [4, 2, 2], "rope_type": "default"}
_QWEN3_VL = {
    "text_config": {**_TEXT, "num_hidden_layers": 3, "rope_scaling": _MROPE},
    "vision_config": {
        **{**_SIZES, "depth": 4, "num_heads": 4},
        **{"out_hidden_size": 64, "deepstack_visual_indexes": [0, 1, 3]},
    },
}
_TINY: dict[str, Changes] = {
    "idefics2": {"text_config": _TEXT, "vision_config": _TOWER, "perceiver_config": _PERCEIVER},
    "llava_next": {"text_config": _TEXT, "vision_config": _TOWER},
    "smolvlm_256m": {
        "text_config": {**_TEXT, "hidden_size": 144, "num_attention_heads": 9, "num_key_value_heads": 3},
        "vision_config": _TOWER,
    },
    "qwen3_vl_2b": _QWEN3_VL,
    "qwen3_vl_4b": _QWEN3_VL,
    "qwen3_vl_8b": _QWEN3_VL,
}
"""Other widths; what the processors know of, such as sizes in pixels and numbers of tokens, stays."""

SIZES = {
    "full": _FULL,
    "tiny": {
        name: dataclasses.replace(
            _FULL[name],
            changes=changes,
            num_tasks=1,
            trainings=({**_FEW, "NUM_WORKERS": "0", "SEQ_LEN": "8192"},),
        )
        for name, changes in _TINY.items()
    },
}
