"""Published configurations with random weights at full width, SmolVLM-256M in full depth: exact there and back, and
Megatron finds the logits that Hugging Face's model finds."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForImageTextToText

from models.registry import family
from tests.tiny import idefics3, qwen3_vl
from toolkits.model_checkpoints_convertor.convert import Config, main
from toolkits.model_checkpoints_convertor.hf_weights import open_hf_folder
from training.memory import config_folder

REDUCED = {
    "smolvlm-256m": {},
    "qwen3-vl-2b": {
        "text_config": {"num_hidden_layers": 4},
        "vision_config": {"depth": 6, "deepstack_visual_indexes": [1, 2, 4]},
    },
}


def build(name: str, folder: Path) -> Path:
    """In bf16, with a tiny policy's tokenizer and a processor of the published tiles or patches."""
    make = idefics3.build_policy if name.startswith("smolvlm") else qwen3_vl.build_policy
    tiny = make(folder / "tiny")
    fields = json.loads((config_folder(Path(name)) / "config.json").read_text())
    own = json.loads((tiny / "config.json").read_text())
    fields.update({key: value for key, value in own.items() if key.endswith("_token_id") and key in fields})
    for part, values in REDUCED[name].items():
        fields[part].update(values)
    hf = folder / "hf"
    shutil.copytree(tiny, hf)
    (hf / "config.json").write_text(json.dumps(fields))
    processor = json.loads((hf / "processor_config.json").read_text())
    processor.update(_published(fields, processor["image_processor"]))
    (hf / "processor_config.json").write_text(json.dumps(processor))
    torch.manual_seed(0)
    model = AutoModelForImageTextToText.from_config(family(hf).read_config(hf), dtype=torch.bfloat16)
    model.save_pretrained(hf)
    (hf / "config.json").write_text(json.dumps(fields))  # as it is published
    return hf


def _published(fields: dict[str, Any], images: dict[str, Any]) -> dict[str, Any]:
    """Of the processor's file: what fits `fields`, and images of moderate size."""
    patch, vision = fields["vision_config"]["patch_size"], fields["vision_config"]
    if "image_size" not in vision:
        pixels = {"shortest_edge": 3136, "longest_edge": 200000}
        return {"image_processor": {**images, "patch_size": patch, "size": pixels}}
    edge = {"longest_edge": vision["image_size"]}
    unsplit = {**images, "size": edge, "max_image_size": edge, "do_image_splitting": False}
    return {"image_seq_len": (vision["image_size"] // patch // fields["scale_factor"]) ** 2, "image_processor": unsplit}


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", REDUCED)
def test_it_goes_there_and_back(tmp_path: Path, name: str) -> None:
    hf = build(name, tmp_path)
    main(Config(direction="hf2mg", load_path=hf, save_path=tmp_path / "mg", verify=True, image_recipe="keep"))
    main(Config(direction="mg2hf", load_path=tmp_path / "mg", save_path=tmp_path / "back"))
    before, after = open_hf_folder(hf), open_hf_folder(tmp_path / "back")
    assert before.keys() == after.keys() and all(before[key].read().equal(after[key].read()) for key in before)
