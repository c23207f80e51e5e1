"""Published configurations with random weights at full width, SmolVLM-256M in full depth: exact there and back,
Megatron finds the logits that Hugging Face's model finds, and the server serves what came back.

    bash tests/run.sh --slow tests/models/test_published_sizes.py        under 6 GB at any time

The 8B is not compared in fp32, where the rows of its 151,936 tokens alone take 5 GB. None is trained here: with
gradients and Adam's moments these rows take 7 GB in the 4B, 22 GB in the 8B; `bash tests/rehearsal.sh` trains SmolVLM.
"""

import json
import resource
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForImageTextToText

from data.conversation import split_marks
from models.checkpoint.weight_tensors import open_weights
from models.registry import family
from server.engine.engine import Engine, EngineConfig
from server.engine.model.prompt import build_prompt
from server.engine.model.vision_language_model import LoadOptions, VisionLanguageModel
from server.engine.model.wire_images import from_predict
from server.engine.sampling import SamplingParams
from tests.server.helpers import observation, png, screenshot
from tests.tiny import idefics3, qwen3_vl
from toolkits.model_checkpoints_convertor.convert import Config, main
from training.memory.per_gpu import config_folder

REDUCED = {
    "smolvlm-256m": {},
    "qwen3-vl-2b": {
        "text_config": {"num_hidden_layers": 4},
        "vision_config": {"depth": 6, "deepstack_visual_indexes": [1, 2, 4]},
    },
    "qwen3-vl-4b": {
        "text_config": {"num_hidden_layers": 3},
        "vision_config": {"depth": 4, "deepstack_visual_indexes": [0, 1, 3]},
    },
    "qwen3-vl-8b": {
        "text_config": {"num_hidden_layers": 1},
        "vision_config": {"depth": 2, "deepstack_visual_indexes": [1]},
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
    verify = name != "qwen3-vl-8b"
    main(Config(direction="hf2mg", load_path=hf, save_path=tmp_path / "mg", verify=verify, image_recipe="keep"))
    main(Config(direction="mg2hf", load_path=tmp_path / "mg", save_path=tmp_path / "back"))
    before, after = open_weights(hf), open_weights(tmp_path / "back")
    assert before.keys() == after.keys() and all(before[key].read().equal(after[key].read()) for key in before)
    del before, after
    check_served(tmp_path / "back")
    print(f"{name}: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GB at most so far")


def check_served(folder: Path) -> None:
    """In bf16, the tokens that the server draws have the log-probabilities of Hugging Face's forward pass."""
    model = VisionLanguageModel(folder, LoadOptions(device="cpu", dtype="bfloat16"))
    image = screenshot(1)
    messages = [{"role": "user", "content": split_marks(f"<image>{observation(1, 5)}")}]
    engine = Engine(model, EngineConfig(max_batch_size=1, max_queue=1))
    prompt = build_prompt(messages, from_predict([png(image)]), model, engine.cache)
    params = SamplingParams(temperature=1, top_k=0, seed=0, max_new_tokens=6, min_new_tokens=6)
    reply = engine.submit(prompt, params).result(600)
    engine.stop()

    text = model.processor.apply_chat_template(messages, add_generation_prompt=True).rstrip(" ")
    inputs = dict(model.processor(text=[text], images=[image], return_tensors="pt"))
    assert prompt.token_ids == inputs["input_ids"][0].tolist()
    drawn = torch.tensor([reply.token_ids])
    behind = {"input_ids": drawn, "attention_mask": drawn * 0 + 1, "mm_token_type_ids": drawn * 0}
    inputs |= {key: torch.cat([inputs[key], added], 1) for key, added in behind.items() if key in inputs}
    with torch.no_grad():
        logits = model.hf_model(**inputs, logits_to_keep=drawn.size(1) + 1).logits[0, :-1]
    expected = logits.float().log_softmax(-1).gather(1, drawn[0, :, None])[:, 0]
    assert reply.logprobs == pytest.approx(expected.tolist(), abs=0.1)  # bf16; another token's is some 2 away
