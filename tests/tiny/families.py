"""A tiny policy of each family, by its name."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.tiny import idefics2, idefics3, llava, qwen2_5_vl, qwen3_vl, text_only

SEEING: dict[str, Callable[[Path], Any]] = {
    "idefics2": idefics2.build_policy,
    "smolvlm": idefics3.build_policy,
    "llava": lambda folder: llava.build_policy(folder, is_next=False),
    "llava_next": lambda folder: llava.build_policy(folder, is_next=True),
    "qwen2_5_vl": lambda folder: qwen2_5_vl.build_policy(folder, layers=1),
    "qwen3_vl": qwen3_vl.build_policy,
}
READING: dict[str, Callable[[Path], Any]] = {"qwen3": lambda folder: text_only.build_policy(folder, "qwen3", layers=1)}
