"""The options of a training run, with OpenWebVoyager's names and 8-GPU values; recipes hold them as they are.

Source of the values: OpenWebVoyager, `train_OpenWebVoyager_idefics2.sh`. Nothing here imports torch.
"""

from dataclasses import dataclass
from typing import Annotated, Literal

from common.errors import UserError
from common.options.limits import Checked, above, at_least, between
from common.options.switch import AutoSwitch, Switch
from training.algorithm_names import check_name


@dataclass(frozen=True, kw_only=True)
class ModelOptions(Checked):
    """What training and scoring have in common: how samples are read, and on how many processes."""

    spelled = staticmethod(str.upper)
    batch_size: Annotated[int, at_least(1)] = 1
    """Samples of one micro-batch."""
    image_num: Annotated[int, at_least(1)] = 3
    """The most images one sample may have."""
    seq_len: Annotated[int, at_least(1)] = 8192
    """Tokens of the longest sample; a longer one loses the end of its newest observation's tree."""
    pr: Literal["bf16", "fp32"] = "bf16"
    """Precision of weights and activations; main gradients and optimizer state are fp32."""
    tp: Annotated[int, at_least(1)] = 8
    """Tensor-parallel size."""
    pp: Annotated[int, at_least(1)] = 1
    """Pipeline-parallel size."""
    dp: Annotated[int, at_least(0)] = 0
    """Data-parallel size; 0: as many replicas as the GPUs hold and the global batch can be cut into, or 1 on CPU."""
    cp: Annotated[int, at_least(1)] = 1
    """Context-parallel size: ranks that hold a part of each sequence all through the model."""
    sp: Switch = False
    """Sequence parallelism: norms work on a part of the sequence each; needs TP > 1."""
    loss: Literal["answer", "all_answers", "all"] = "answer"
    """Which tokens the loss is on: the last reply, every reply, or everything but images."""
    skip_bad_samples: Annotated[int, at_least(0)] = 0
    """Go on without so many samples that cannot be read; more of them end the run before it starts."""
    packing: Switch = False
    """Put several samples into one row of at most `seq_len` tokens, each attending to itself only: no padding."""
    te: AutoSwitch = None
    """TransformerEngine's layers and optimizer; auto: where it is installed."""
    host_gpu_num: Annotated[int, at_least(0)] = 0
    """The most GPUs (on CPU: processes) that each host gives; 0: all that CUDA_VISIBLE_DEVICES leaves, on CPU as many
    as TP x PP x CP x DP."""

    def check_together(self) -> None:
        super().check_together()
        if self.packing and self.batch_size != 1:
            raise UserError("PACKING=true makes rows of SEQ_LEN tokens, one a micro-batch; give BATCH_SIZE=1")
        if self.sp and self.tp == 1:
            raise UserError(f"SP=true needs TP > 1, not TP={self.tp}")


@dataclass(frozen=True, kw_only=True)
class TrainingOptions(ModelOptions):
    """Everything but the folders: how a model is trained, and on how many processes."""

    global_batch_size: Annotated[int, at_least(1)] = 64
    """Samples of one optimizer step, over all data-parallel ranks."""
    group_by_length: Annotated[int, at_least(1)] = 1
    """Optimizer steps whose samples are drawn together and go to them by length, like with like, so that replicas wait
    less for each other and less is padded; 1: each step as it is drawn."""
    lr: Annotated[float, at_least(0)] = 1e-5
    """Highest learning rate."""
    min_lr: Annotated[float, at_least(0)] = 1e-6
    """Learning rate at the end of the cosine."""
    ac: Literal["full", "selective", "none"] = "full"
    """Activation recomputation: of whole layers, of their feed-forward part, or none."""
    do: Switch = False
    """Distributed optimizer: its state is cut over the data-parallel ranks."""
    vpp: Annotated[int, at_least(1)] = 1
    """Chunks of layers on each pipeline stage (interleaved pipelining); needs PP > 1."""
    first_stage_layers: Annotated[int, at_least(0)] = 0
    """Layers of the first pipeline stage, which also carries the vision tower; 0: as many as every other stage."""
    overlap: Switch = False
    """Reduce gradients during the backward pass, and with DO=true gather weights during the forward pass."""
    freeze_vision: AutoSwitch = None
    """Keep the vision tower as it is; auto: where there are adapters."""
    freeze_connector: AutoSwitch = None
    """Keep the connector as it is; auto: where there are adapters."""
    freeze_language: Switch = False
    """Keep the language model as it is."""
    lora_rank: Annotated[int, at_least(0)] = 0
    """Rank of low-rank adapters on the language model's projections (q, k, v, o, gate, up, down), which learn in its
    place and are saved alone; 0: none."""
    lora_alpha: Annotated[float, above(0)] = 16.0
    """Adapters are scaled by LORA_ALPHA / LORA_RANK."""
    train_iters: Annotated[int, at_least(1)] = 300
    """Optimizer steps."""
    train_epochs: Annotated[float, at_least(0)] = 0.0
    """Passes over the data; when positive, `train_iters` is computed from it."""
    lr_warmup_iters: Annotated[int, at_least(0)] = 9
    """Steps of linear warm-up."""
    save_interval: Annotated[int, at_least(1)] = 100
    """Steps between checkpoints; the last step is always saved."""
    algorithm: str = "sft"
    """The learning algorithm, a file in training/algorithms, or the module path of your own."""
    algorithm_options: str = ""
    """Its own options: NAME=VALUE,NAME=VALUE."""
    column_files: str = ""
    """Parquet files of columns that it reads (weights, advantages, log-probabilities), separated by commas."""
    weight_decay: Annotated[float, at_least(0)] = 0.0
    adam_beta2: Annotated[float, between(0, 0.99999)] = 0.999
    """Decay of Adam's mean of squared gradients; 0.95 where steps are few or gradients differ much in size."""
    clip_grad: Annotated[float, at_least(0)] = 1.0
    """Largest norm of the gradient."""
    seed: Annotated[int, at_least(0)] = 1234
    """Order of the samples."""
    num_workers: Annotated[int, at_least(0)] = 8
    """Processes that tokenize, on one rank of each replica, and threads on each rank that prepare its images; 0: both
    are done when they are needed, in the training process."""
    pad_to_longest: AutoSwitch = None
    """Pad a micro-batch to its longest sample rather than to `seq_len`; auto: where there is no GPU."""
    lr_schedule: Literal["cosine", "linear", "constant"] = "cosine"
    """How the learning rate goes from `lr` to `min_lr` after the warm-up; constant: not at all."""
    spike_factor: Annotated[float, at_least(0)] = 50.0
    """Skip a step whose gradient norm is this many times the median of the last 100; 0: only when it is not finite."""
    keep_last: Annotated[int, at_least(0)] = 0
    """How many checkpoints stay; 0: all."""
    async_save: Switch = True
    """Write checkpoints while training goes on."""
    eval_interval: Annotated[int, at_least(0)] = 100
    """Steps between losses on the data set's validation split, if it has one."""
    eval_samples: Annotated[int, at_least(0)] = 256
    """The most validation samples; 0: all."""
    wandb_project: str = ""
    """Also log to this Weights & Biases project (needs `pip install wandb`)."""
    peak_tflops: Annotated[float, at_least(0)] = 0.0
    """Dense bf16 TFLOP/s of one GPU, for the model FLOP/s utilization; 0: by the GPU's name, if it is known."""
    dry_run: bool = False
    """Print layout, parameters and memory of each GPU, and stop; needs neither GPU, data nor weights, only a
    config.json in PRETRAIN_CHECKPOINT_PATH, or a known shape in its place (idefics2-8b, which train_idefics2.sh takes
    by itself)."""
    num_gpus: Annotated[int, at_least(0)] = 0
    """GPUs that a dry run counts with; 0: one replica, or DP of them."""
    gpu_memory_gib: Annotated[float, above(0)] = 80.0
    """Memory of one of them."""
    host_memory_gib: Annotated[float, at_least(0)] = 0.0
    """Memory of a host that a dry run counts with; 0: what it needs is printed only."""
    host_num: Annotated[int, at_least(1)] = 1
    """Number of hosts."""
    index: Annotated[int, at_least(0)] = 0
    """Number of this host."""
    chief_ip: str = "localhost"
    """Address of host 0."""
    master_port: Annotated[int, between(1, 65535)] = 6501
    """Port of host 0, when there are several."""

    def check_together(self) -> None:
        super().check_together()
        check_name(self.algorithm)
        if self.min_lr > self.lr:
            raise UserError(f"MIN_LR={self.min_lr:g} is above LR={self.lr:g}; give a lower MIN_LR too, such as 0")
