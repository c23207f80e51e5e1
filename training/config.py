"""A training run's options, and what follows from them.

Each is a flag (`--tp 2`) and, in capitals, an environment variable (`TP=2`); the flag wins.
"""

import dataclasses
import hashlib
import math
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import torch
import tyro

from common import cli
from common.files import file_digest
from common.options.switch import spelled
from data.adapter_record import Lora
from data.checkpoint_folder import find_weights, fingerprint, is_critic, read_tracker
from data.shards.mix_file import made_of_mix
from data.shards.shard import checksum
from models.tokens.encoding import Reads
from training import algorithms
from training.algorithms.algorithm import Algorithm
from training.layout import Layout
from training.modules import kernels
from training.modules.trainable import Trainable
from training.options import TrainingOptions
from training.samples.left_out import LeftOut

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Options = TypeVar("Options", bound="DataclassInstance")


@dataclasses.dataclass(frozen=True)
class Places:
    """Where a run reads and writes."""

    dataset_path: Path
    """Folder of webdataset shards, made by toolkits/convert_to_tar_data.py, or of others' webdataset tars, or an
    energon dataset, or a mix (data/shards/mix_file.py)."""
    pretrain_checkpoint_path: Path
    """Megatron checkpoint to start from: converted by hf2mg.sh, or the checkpoint folder of another run."""
    output_basepath: Path = Path("output")
    """Receives checkpoint/, tensorboard/ and log/, each with a folder RUN_NAME."""
    model_type: tyro.conf.Suppress[str] = ""
    """The only family that is accepted; set by train_idefics2.sh and its like as MODEL_TYPE, no flag."""
    run_name: str = ""
    """Name of its outputs; by default made of the settings below."""


@dataclasses.dataclass(frozen=True)
class Config(TrainingOptions, Places):
    """Fine-tune a vision-language model with Megatron."""

    def num_iters(self, num_samples: int) -> int:
        """Optimizer steps of the run on a data set of `num_samples`."""
        if self.train_epochs > 0:
            return max(1, math.ceil(self.train_epochs * num_samples / self.global_batch_size))
        return self.train_iters

    def num_loaders(self, manifest: dict[str, Any]) -> int:
        """Processes that tokenize a data set: one without a sample, or with bad ones alone, could give nothing."""
        return min(self.num_workers, manifest["num_samples"] // (1 + len(self.left_out.keys)))

    def num_samples(self, manifest: dict[str, Any]) -> int:
        """Of a data set those that the run trains on."""
        return self.left_out.num_left(manifest)

    @property
    def left_out(self) -> LeftOut:
        """What the run goes on without, as its launcher found."""
        return LeftOut.read(self.left_out_path)

    @property
    def left_out_path(self) -> Path:
        return self.checkpoint_path / "left_out.jsonl"

    def identity(self, manifest: dict[str, Any]) -> dict[str, Any]:
        """What a run cannot change: the order of its samples, the form and the settings of its optimizer, the weights
        that it leaves alone, and what its loss is made of."""
        shards = [checksum(shard)[1] for shard in manifest["shards"] if shard.get("split", "train") == "train"]
        order = ("global_batch_size", "group_by_length", "seed", "pr", "loss", "image_num")
        rates = ("lr", "min_lr", "lr_schedule", "lr_warmup_iters", "weight_decay", "adam_beta2", "clip_grad")
        trainable = dataclasses.asdict(self.trainable)
        del trainable["value_heads"]  # `algorithm` names them
        return {
            **{name: getattr(self, name) for name in (*order, *rates)},
            "do": spelled(self.do),
            "adam": kernels.adam(self.te),
            "num_workers": self.num_loaders(manifest),
            "left_out": self.left_out.keys,
            "data": hashlib.sha256("".join(shards).encode()).hexdigest(),
            "trainable": trainable,
            "algorithm": f"{self.algorithm}: {self.build_algorithm()}",
            "column_files": [file_digest(path) for path in self.column_paths],
            **({"mix": mix["sha256"]} if (mix := made_of_mix(manifest)) else {}),
            **({"base": self._base()} if self.lora_rank else {}),
            **({"policy": self._policy()} if self.trainable.value_heads else {}),
        }

    def _policy(self) -> str | None:
        """Of which policy a critic learns the values: the one that it starts from; None: it starts from a critic."""
        weights = find_weights(self.pretrain_checkpoint_path)[0]
        return None if is_critic(weights) else fingerprint(weights, "*.distcp")

    def _base(self) -> str:
        """The iteration that adapters stand on, as seen from the run's own, so that both can be moved together."""
        weights = find_weights(self.pretrain_checkpoint_path)[0]
        return os.path.relpath(weights.resolve(), self.checkpoint_path.resolve())

    @property
    def column_paths(self) -> list[Path]:
        return [Path(path) for path in self.column_files.split(",") if path]

    def build_algorithm(self) -> Algorithm:
        """`UserError` when there is none of this name."""
        return algorithms.load(self.algorithm, self.algorithm_options)

    @property
    def reads(self) -> Reads:
        """Which tokens of a sample are asked for."""
        return "state" if self.trainable.value_heads else self.loss

    @property
    def pads_to_longest(self) -> bool:
        return not torch.cuda.is_available() if self.pad_to_longest is None else self.pad_to_longest

    @property
    def layout(self) -> Layout:
        return Layout(
            tensor_parallel=self.tp,
            pipeline_parallel=self.pp,
            virtual_pipeline=self.vpp,
            first_stage_layers=self.first_stage_layers,
            context_parallel=self.cp,
            sequence_parallel=self.sp,
            distributed_optimizer=self.do,
            overlap=self.overlap,
            recompute=self.ac,
            bf16=self.pr == "bf16",
        )

    @property
    def trainable(self) -> Trainable:
        frozen = bool(self.lora_rank)  # unless told otherwise
        return Trainable(
            vision=not (frozen if self.freeze_vision is None else self.freeze_vision),
            connector=not (frozen if self.freeze_connector is None else self.freeze_connector),
            language=not self.freeze_language,
            lora=Lora(self.lora_rank, self.lora_alpha) if self.lora_rank else None,
            value_heads=self.build_algorithm().value_heads,
        )

    @property
    def output_name(self) -> str:
        return self.run_name or (
            f"{self.model_type or 'model'}-img{self.image_num}-lr-{self.lr:g}"
            f"-bs-{self.batch_size}-gbs-{self.global_batch_size}"
            f"-seqlen-{self.seq_len}-pr-{self.pr}-tp-{self.tp}-pp-{self.pp}-ac-{self.ac}"
            f"-do-{spelled(self.do)}-sp-{spelled(self.sp)}-warmup-{self.lr_warmup_iters}"
        )

    @property
    def checkpoint_path(self) -> Path:
        return self.output_basepath / "checkpoint" / self.output_name

    @property
    def hf_files(self) -> Path:
        """The folder of configuration, processor and tokenizer: the run's own once it has a checkpoint, so that nothing
        that happens to PRETRAIN_CHECKPOINT_PATH changes what a resumed run sees."""
        began = read_tracker(self.checkpoint_path) is not None
        return find_weights(self.checkpoint_path if began else self.pretrain_checkpoint_path)[1]

    @property
    def tensorboard_path(self) -> Path:
        return self.output_basepath / "tensorboard" / self.output_name

    @property
    def log_path(self) -> Path:
        return self.output_basepath / "log" / self.output_name


def parse(arguments: list[str] | None = None) -> Config:
    """The options from `arguments` (`sys.argv` by default) over those from the environment."""
    model = os.environ.get("MODEL_TYPE", "")
    config = parse_with_environment(Config, script_of(model), arguments)
    return dataclasses.replace(config, model_type=model)


def script_of(model: str) -> str:
    """The script in this folder that trains a family."""
    name = f"train_{model}.sh"
    return name if Path(__file__).with_name(name).exists() else "train.sh"


def parse_with_environment(config_type: type[Options], program: str, arguments: list[str] | None = None) -> Options:
    """A dataclass whose fields are flags and, in capitals, environment variables; the flag wins, an empty variable is
    none."""
    environment = []
    for field in dataclasses.fields(config_type):
        value = (os.environ.get(field.name.upper()) or None) if field.name != "model_type" else None
        if value is not None and field.type is bool:
            environment += [f"--{field.name}"] if value in ("1", "true") else []
        elif value is not None:
            environment += [f"--{field.name}", value]
    given = [*environment, *(sys.argv[1:] if arguments is None else arguments)]
    variables = "Each option is also an environment variable: DATASET_PATH=DIR for --dataset_path DIR. A flag wins."
    settled = f" Set already, by variables or as the family's published values: {' '.join(environment)}."
    description = f"{config_type.__doc__} {variables}{settled if environment else ''}"
    return cli.parse(config_type, given, description, program)
