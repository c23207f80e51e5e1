"""A folder whose image processor is of another model is refused when it is loaded, not at its first image."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from common.errors import UserError
from models.processor import load_processor
from models.registry import family
from tests import tiny
from tests.tiny import idefics3, llava, qwen3_vl

MISFITS: dict[str, tuple[str, dict[str, Any], str]] = {
    "a larger square": ("llava", {"crop_size": {"height": 96, "width": 96}}, r"shape \(1, 3, 96, 96\)"),
    "no square": ("llava", {"do_center_crop": False}, r"shape \(1, 3, 48, 64\)"),
    "other grids": ("llava_next", {"image_grid_pinpoints": [[48, 96]]}, "image_grid_pinpoints are"),
    "larger tiles": ("llava_next", {"crop_size": {"height": 96, "width": 96}}, "given a page of 1024x768"),
    "tiles of another size": ("idefics3", {"max_image_size": {"longest_edge": 64}}, r"shape \(1, 3, 64, 64\)"),
    "larger patches": ("qwen3_vl", {"patch_size": 16}, "patch_size is 16, the model's 8"),
    "no size": ("idefics2", {"size": {"longest_edge": 0, "shortest_edge": 0}}, "given a page of 1024x768, fails"),
    "less than a patch": ("idefics2", {"size": {"longest_edge": 5, "shortest_edge": 5}}, "fails"),
}
MAKERS: dict[str, Callable[[Path], Path]] = {
    "idefics2": tiny.build_policy,
    "llava": lambda folder: llava.build_policy(folder, is_next=False),
    "llava_next": lambda folder: llava.build_policy(folder, is_next=True),
    "idefics3": idefics3.build_policy,
    "qwen3_vl": qwen3_vl.build_policy,
}


@pytest.mark.parametrize("name", MISFITS)
def test_it_is_refused_in_one_line(name: str, tmp_path: Path) -> None:
    kind, changes, message = MISFITS[name]
    folder = MAKERS[kind](tmp_path)
    file = folder / "processor_config.json"
    fields = json.loads(file.read_text())
    fields["image_processor"].update(changes)
    file.write_text(json.dumps(fields))
    with pytest.raises(UserError, match=message) as refusal:
        family(folder).image_encoder(load_processor(folder), family(folder).read_config(folder))
    assert "\n" not in str(refusal.value)
