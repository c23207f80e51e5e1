"""The options of a training run, with OpenWebVoyager's names and 8-GPU values.

Each is a flag (`--tp 2`) and, in capitals, an environment variable (`TP=2`); the flag wins. Source of the values:
OpenWebVoyager, `train_OpenWebVoyager_idefics2.sh`.
"""

import dataclasses
import hashlib
import math
import os
import sys
from pathlib import Path
from typing import Any, Literal, TypeVar

import torch
import tyro

from common.files import file_digest
from data.adapter_record import Lora
from data.checkpoint_folder import find_weights, read_tracker
from data.shard import checksum
from training import algorithms
from training.algorithms.algorithm import Algorithm
from training.layout import Layout
from training.modules.trainable import Trainable

Switch = Literal["true", "false"]
Options = TypeVar("Options")


@dataclasses.dataclass(frozen=True)
class Config:
    """Fine-tune a vision-language model with Megatron."""

    dataset_path: Path
    """Folder of webdataset shards, made by toolkits/convert_to_tar_data.py."""
    pretrain_checkpoint_path: Path
    """Megatron checkpoint to start from: converted by hf2mg.sh, or the checkpoint folder of another run."""
    output_basepath: Path = Path("output")
    """Receives checkpoint/, tensorboard/ and log/, each with a folder RUN_NAME."""
    model_type: tyro.conf.Suppress[str] = ""
    """The only family that is accepted; set by train_idefics2.sh and its like as MODEL_TYPE, no flag."""
    run_name: str = ""
    """Name of its outputs; by default made of the settings below."""
    batch_size: int = 1
    """Samples of one micro-batch."""
    global_batch_size: int = 64
    """Samples of one optimizer step, over all data-parallel ranks."""
    image_num: int = 3
    """The most images one sample may have."""
    lr: float = 1e-5
    """Highest learning rate."""
    min_lr: float = 1e-6
    """Learning rate at the end of the cosine."""
    seq_len: int = 8192
    """Tokens of the longest sample; a longer one loses the end of its newest observation's tree."""
    pr: Literal["bf16", "fp32"] = "bf16"
    """Precision of weights and activations; main gradients and optimizer state are fp32."""
    tp: int = 8
    """Tensor-parallel size."""
    pp: int = 1
    """Pipeline-parallel size."""
    dp: int = 0
    """Data-parallel size; 0: as many replicas as the GPUs hold and the global batch can be cut into, or 1 on CPU."""
    ac: Literal["full", "selective", "none"] = "full"
    """Activation recomputation: of whole layers, of their feed-forward part, or none."""
    do: Switch = "false"
    """Distributed optimizer: its state is cut over the data-parallel ranks."""
    sp: Switch = "false"
    """Sequence parallelism: norms work on a part of the sequence each; needs TP > 1."""
    cp: int = 1
    """Context-parallel size: ranks that hold a part of each sequence all through the model."""
    vpp: int = 1
    """Chunks of layers on each pipeline stage (interleaved pipelining); needs PP > 1."""
    first_stage_layers: int = 0
    """Layers of the first pipeline stage, which also carries the vision tower; 0: as many as every other stage."""
    overlap: Switch = "false"
    """Reduce gradients during the backward pass, and with DO=true gather weights during the forward pass."""
    freeze_vision: Literal["auto", "true", "false"] = "auto"
    """Keep the vision tower as it is; auto: where there are adapters."""
    freeze_connector: Literal["auto", "true", "false"] = "auto"
    """Keep the connector as it is; auto: where there are adapters."""
    freeze_language: Switch = "false"
    """Keep the language model as it is."""
    lora_rank: int = 0
    """Rank of low-rank adapters on the language model's projections (q, k, v, o, gate, up, down), which learn in its
    place and are saved alone; 0: none."""
    lora_alpha: float = 16.0
    """Adapters are scaled by LORA_ALPHA / LORA_RANK."""
    train_iters: int = 300
    """Optimizer steps."""
    train_epochs: float = 0.0
    """Passes over the data; when positive, `train_iters` is computed from it."""
    lr_warmup_iters: int = 9
    """Steps of linear warm-up."""
    save_interval: int = 100
    """Steps between checkpoints; the last step is always saved."""
    loss: Literal["answer", "all_answers", "all"] = "answer"
    """Which tokens are learnt: the last reply, every reply, or everything but images."""
    algorithm: str = "sft"
    """The learning algorithm, a file in training/algorithms, or the module path of your own."""
    algorithm_options: str = ""
    """Its own options: NAME=VALUE,NAME=VALUE."""
    column_files: str = ""
    """Parquet files of columns that it reads (weights, advantages, log-probabilities), separated by commas."""
    weight_decay: float = 0.0
    clip_grad: float = 1.0
    """Largest norm of the gradient."""
    seed: int = 1234
    """Order of the samples."""
    num_workers: int = 8
    """Processes that tokenize, on one rank of each replica, and threads on each rank that prepare its images; 0: both
    are done when they are needed, in the training process."""
    pad_to_longest: Literal["auto", "true", "false"] = "auto"
    """Pad a micro-batch to its longest sample rather than to `seq_len`; auto: where there is no GPU."""
    packing: Switch = "false"
    """Put several samples into one row of at most `seq_len` tokens, each attending to itself only: no padding."""
    lr_schedule: Literal["cosine", "linear", "constant"] = "cosine"
    """How the learning rate goes from `lr` to `min_lr` after the warm-up; constant: not at all."""
    spike_factor: float = 50.0
    """Skip a step whose gradient norm is this many times the median of the last 100; 0: only when it is not finite."""
    keep_last: int = 0
    """How many checkpoints stay; 0: all."""
    async_save: Switch = "true"
    """Write checkpoints while training goes on."""
    eval_interval: int = 100
    """Steps between losses on the data set's validation split, if it has one."""
    eval_samples: int = 256
    """The most validation samples; 0: all."""
    wandb_project: str = ""
    """Also log to this Weights & Biases project (needs `pip install wandb`)."""
    peak_tflops: float = 0.0
    """Dense bf16 TFLOP/s of one GPU, for the model FLOP/s utilisation; 0: by the GPU's name, if it is known."""
    dry_run: bool = False
    """Print layout, parameters and memory of each GPU, and stop; needs neither GPU, data nor weights, only a
    config.json in PRETRAIN_CHECKPOINT_PATH, or a known shape in its place (idefics2-8b)."""
    num_gpus: int = 0
    """GPUs that a dry run counts with; 0: one replica, or DP of them."""
    gpu_memory_gib: float = 80.0
    """Memory of one of them."""
    host_memory_gib: float = 0.0
    """Memory of a host that a dry run counts with; 0: what it needs is printed only."""
    te: Literal["auto", "true", "false"] = "auto"
    """TransformerEngine's layers and optimizer; auto: where it is installed."""
    host_gpu_num: int = 0
    """The most GPUs (on CPU: processes) that each host gives; 0: all that CUDA_VISIBLE_DEVICES leaves, on CPU as many
    as TP x PP x CP x DP."""
    host_num: int = 1
    """Number of hosts."""
    index: int = 0
    """Number of this host."""
    chief_ip: str = "localhost"
    """Address of host 0."""
    master_port: int = 6501
    """Port of host 0, when there are several."""

    def num_iters(self, num_samples: int) -> int:
        """Optimizer steps of the run on a data set of `num_samples`."""
        if self.train_epochs > 0:
            return max(1, math.ceil(self.train_epochs * num_samples / self.global_batch_size))
        return self.train_iters

    def num_loaders(self, num_samples: int) -> int:
        """Processes that tokenize a data set of `num_samples`: one without a sample could give nothing."""
        return min(self.num_workers, num_samples)

    def identity(self, manifest: dict[str, Any]) -> dict[str, Any]:
        """What a run cannot change before its end: the order of its samples, the form of its optimizer's state, the
        weights that it leaves alone, and what its loss is made of."""
        shards = [checksum(shard)[1] for shard in manifest["shards"] if shard.get("split", "train") == "train"]
        names = ("global_batch_size", "seed", "pr", "do")
        return {
            **{name: getattr(self, name) for name in names},
            "num_workers": self.num_loaders(manifest["num_samples"]),
            "data": hashlib.sha256("".join(shards).encode()).hexdigest(),
            "trainable": dataclasses.asdict(self.trainable),
            "algorithm": f"{self.algorithm}: {self.build_algorithm()}",
            "column_files": [file_digest(path) for path in self.column_paths],
            **({"base": str(find_weights(self.pretrain_checkpoint_path)[0].resolve())} if self.lora_rank else {}),
        }

    @property
    def column_paths(self) -> list[Path]:
        return [Path(path) for path in self.column_files.split(",") if path]

    def build_algorithm(self) -> Algorithm:
        """`UserError` when there is none of this name."""
        return algorithms.load(self.algorithm, self.algorithm_options)

    @property
    def pads_to_longest(self) -> bool:
        return self.pad_to_longest == "true" or (self.pad_to_longest == "auto" and not torch.cuda.is_available())

    @property
    def layout(self) -> Layout:
        return Layout(
            tensor_parallel=self.tp,
            pipeline_parallel=self.pp,
            virtual_pipeline=self.vpp,
            first_stage_layers=self.first_stage_layers,
            context_parallel=self.cp,
            sequence_parallel=self.sp == "true",
            distributed_optimizer=self.do == "true",
            overlap=self.overlap == "true",
            recompute=self.ac,
            bf16=self.pr == "bf16",
        )

    @property
    def trainable(self) -> Trainable:
        learning = ("false",) if self.lora_rank else ("false", "auto")
        return Trainable(
            vision=self.freeze_vision in learning,
            connector=self.freeze_connector in learning,
            language=self.freeze_language == "false",
            lora=Lora(self.lora_rank, self.lora_alpha) if self.lora_rank else None,
        )

    @property
    def output_name(self) -> str:
        return self.run_name or (
            f"{self.model_type or 'model'}-img{self.image_num}-lr-{self.lr:g}"
            f"-bs-{self.batch_size}-gbs-{self.global_batch_size}"
            f"-seqlen-{self.seq_len}-pr-{self.pr}-tp-{self.tp}-pp-{self.pp}-ac-{self.ac}-do-{self.do}-sp-{self.sp}"
            f"-warmup-{self.lr_warmup_iters}"
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
    """A dataclass whose fields are flags and, in capitals, environment variables; the flag wins."""
    environment = []
    for field in dataclasses.fields(config_type):
        value = os.environ.get(field.name.upper()) if field.name != "model_type" else None
        if value is not None and field.type is bool:
            environment += [f"--{field.name}"] if value in ("1", "true") else []
        elif value is not None:
            environment += [f"--{field.name}", value]
    arguments = environment + (sys.argv[1:] if arguments is None else arguments)
    variables = "Each option is also an environment variable: DATASET_PATH=DIR for --dataset_path DIR. A flag wins."
    description = f"{config_type.__doc__} {variables}"
    return tyro.cli(config_type, args=arguments, use_underscores=True, prog=program, description=description)
