"""Policies, Megatron's checkpoints, adapters and states."""

import shutil
from pathlib import Path

import torch

from models.checkpoint.adapter_config import read_adapter_config
from models.checkpoint.hf_folder import read_hf_folder
from models.processor import load_processor
from server.hf_online_server import check_folder
from tests.adversary.specimens.specimen import Specimen, only
from tests.tiny import idefics2
from toolkits.model_checkpoints_convertor import convert
from toolkits.model_checkpoints_convertor.inspect_checkpoint import describe
from training.checkpoints.state_file import read_state


def write_policy(folder: Path) -> None:
    idefics2.build_policy(folder / "policy")


def write_bin(folder: Path) -> None:
    from safetensors.torch import load_file

    write_policy(folder)
    torch.save(load_file(folder / "policy" / "model.safetensors"), folder / "policy" / "pytorch_model.bin")
    (folder / "policy" / "model.safetensors").unlink()


def serve(folder: Path, out: Path) -> None:
    check_folder(folder / "policy")
    load_processor(folder / "policy")


def read_policy(folder: Path, out: Path) -> None:
    read_hf_folder(folder / "policy")


def convert_policy(folder: Path, out: Path) -> None:
    kinds = convert.Config
    convert.main(kinds(direction="hf2mg", load_path=folder / "policy", save_path=out / "mg"))


def write_megatron(folder: Path) -> None:
    write_policy(folder)
    convert_policy(folder, folder)
    shutil.rmtree(folder / "policy")


def convert_back(folder: Path, out: Path) -> None:
    describe(folder / "mg")
    kinds = convert.Config
    convert.main(kinds(direction="mg2hf", load_path=folder / "mg", save_path=out / "hf"))


ADAPTER = {
    "peft_type": "LORA",
    "r": 4,
    "lora_alpha": 8,
    "target_modules": ["q_proj", "v_proj"],
    "bias": "none",
    "rank_pattern": {"layers.0.q_proj": 2},
}


def write_state(folder: Path) -> None:
    torch.save({"step": 3, "weights": {"a": torch.ones(3)}}, folder / "state.pt")


CHECKPOINTS: dict[str, Specimen] = {
    "a policy": Specimen(write_policy, "policy/*", (serve, read_policy)),
    "a converted policy": Specimen(write_policy, "policy/*", (convert_policy,)),
    "a policy of pickles": Specimen(write_bin, "policy/*.bin", (read_policy, convert_policy)),
    "a Megatron checkpoint": Specimen(write_megatron, "mg/**/*", (convert_back,)),
    "an adapter": Specimen(only("adapter_config.json", ADAPTER), "*", (lambda folder, _: read_adapter_config(folder),)),
    "a state": Specimen(write_state, "*", (lambda folder, _: read_state(folder / "state.pt", "a state"),)),
}
