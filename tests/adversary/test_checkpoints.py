"""Checkpoint folders from elsewhere, as the server, the trainer's processor and the converters open them."""

import json
import pickle
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoConfig

from common.errors import UserError
from models.processor import load_processor
from server.engine.model.vision_language_model import LoadOptions, VisionLanguageModel
from server.hf_online_server import check_folder
from tests.adversary.refusals import refusal

CODE = """
from pathlib import Path
Path({mark!r}).write_text("it ran")
from transformers import PretrainedConfig, PreTrainedTokenizerFast
class Config(PretrainedConfig): pass
class Thing(PreTrainedTokenizerFast): pass
"""


@pytest.fixture
def folder(tiny_policy: Path, tmp_path: Path) -> Path:
    return shutil.copytree(tiny_policy, tmp_path / "policy")


def change(path: Path, **fields: Any) -> None:
    path.write_text(json.dumps((json.loads(path.read_text()) if path.exists() else {}) | fields))


def test_code_that_comes_with_a_checkpoint_does_not_run(folder: Path, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    (folder / "evil.py").write_text(CODE.format(mark=str(mark)))
    names = ("Config", "Model", "ModelForCausalLM", "ModelForImageTextToText", "Processor", "ImageProcessor")
    everywhere = {f"Auto{name}": "evil.Thing" for name in names} | {"AutoTokenizer": ["evil.Thing", "evil.Thing"]}
    for file in ("config.json", "tokenizer_config.json", "preprocessor_config.json", "processor_config.json"):
        change(folder / file, auto_map=everywhere)
    load_processor(folder)
    VisionLanguageModel(check_folder(folder), LoadOptions(device="cpu"))
    assert not mark.exists()
    change(folder / "config.json", model_type="elcano_unknown", auto_map={"AutoConfig": "evil.Config"})
    AutoConfig.from_pretrained(folder, trust_remote_code=True)
    assert mark.exists()  # for whoever trusts it


def test_a_checkpoint_of_pickles_is_not_read(folder: Path, tmp_path: Path) -> None:
    mark = tmp_path / "mark"

    class Runs:
        def __reduce__(self) -> Any:
            return Path.touch, (mark,)

    (folder / "model.safetensors").unlink()
    for name in ("pytorch_model.bin", "model.pt", "adapter_model.bin"):
        torch.save({"x": Runs()}, folder / name)
    with pytest.raises(UserError, match="pickled weights are not read"):
        check_folder(folder)
    assert not mark.exists()
    with pytest.raises(pickle.UnpicklingError):
        torch.load(folder / "model.pt", weights_only=True)
    torch.load(folder / "model.pt", weights_only=False)
    assert mark.exists()


def tensors(header: Any, body: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + body


HUGE = {"dtype": "F32", "shape": [2**40, 2**20], "data_offsets": [0, 2**62]}
LIES = {
    "nothing": b"",
    "a header longer than the file": struct.pack("<Q", 2**62) + b"{}",
    "no JSON": tensors(b"{" * 100),
    "nested deeply": tensors(b"[" * 100_000),
    "offsets beyond the file": tensors({"x": {"dtype": "F32", "shape": [4], "data_offsets": [0, 2**40]}}),
    "offsets below nothing": tensors({"x": {"dtype": "F32", "shape": [4], "data_offsets": [-16, 0]}}, bytes(16)),
    "a tensor larger than the world": tensors({"x": HUGE}),
    "another type": tensors({"x": {"dtype": "OBJECT", "shape": [1], "data_offsets": [0, 8]}}, bytes(8)),
    "a pickle": pickle.dumps({"x": 1}),
}


@pytest.mark.parametrize("kind", LIES)
def test_a_safetensors_file_that_lies_is_refused(folder: Path, kind: str) -> None:
    (folder / "model.safetensors").write_bytes(LIES[kind])
    line = refusal(lambda: VisionLanguageModel(check_folder(folder), LoadOptions(device="cpu")))
    assert str(folder) in line


CONFIGS: dict[str, Callable[[Path], None]] = {
    "no object": lambda path: path.write_text("[]"),
    "nested deeply": lambda path: path.write_text("[" * 100_000),
    "a type of another type": lambda path: change(path, model_type=["idefics2"]),
    "a type with a path": lambda path: change(path, model_type="../../x"),
    "bytes": lambda path: path.write_bytes(b"\xff\xfe\x00"),
}


@pytest.mark.parametrize("kind", CONFIGS)
def test_a_configuration_that_is_none_is_refused(folder: Path, kind: str) -> None:
    CONFIGS[kind](folder / "config.json")
    assert str(folder) in refusal(lambda: check_folder(folder))


@pytest.mark.parametrize("change_of", [{"vocab_size": 2**40}, {"hidden_size": 2**31}, {"hidden_size": -64}])
def test_a_shape_beyond_all_memory_is_refused(folder: Path, change_of: dict[str, int]) -> None:
    fields = json.loads((folder / "config.json").read_text())
    change(folder / "config.json", text_config=fields["text_config"] | change_of)
    assert str(folder) in refusal(lambda: VisionLanguageModel(check_folder(folder), LoadOptions(device="cpu")))


@pytest.mark.parametrize("name", ["../outside.safetensors", "/tmp/outside.safetensors"])
def test_an_index_that_leads_out_is_refused(folder: Path, name: str) -> None:
    shutil.copy(folder / "model.safetensors", folder.parent / "outside.safetensors")
    names = json.loads((folder / "model.safetensors").read_bytes()[8:].split(b"}}", 1)[0] + b"}}")
    weight_map = {tensor: name for tensor in names if tensor != "__metadata__"}
    (folder / "model.safetensors").rename(folder / "model-00001-of-00001.safetensors")
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": weight_map}))
    assert str(folder) in refusal(lambda: VisionLanguageModel(check_folder(folder), LoadOptions(device="cpu")))
