"""Flags of `score.sh`: which checkpoint scores which samples, and how."""

import dataclasses
from pathlib import Path
from typing import Any, Literal

from common.files import file_digest
from common.switch import AutoSwitch, Switch
from data.adapter_record import read_adapter_record
from data.checkpoint_folder import find_weights, fingerprint
from training import algorithms
from training.columns import BEHAVIOR
from training.config import Config


@dataclasses.dataclass(frozen=True)
class ScoreConfig:
    """Log-probabilities of every sample's reply under a checkpoint."""

    checkpoint: Path
    """Megatron checkpoint folder, or one iteration of it."""
    dataset_path: Path
    """Folder of webdataset shards; all splits are scored."""
    output: Path
    """The Parquet file to write."""
    tp: int = 1
    """Tensor-parallel size."""
    pp: int = 1
    """Pipeline-parallel size."""
    cp: int = 1
    """Context-parallel size."""
    dp: int = 0
    """Data-parallel size; 0: as many replicas as the GPUs hold, or 1 on CPU."""
    sp: Switch = False
    """Sequence parallelism."""
    pr: Literal["bf16", "fp32"] = "bf16"
    """Precision of weights and activations."""
    batch_size: int = 1
    """Samples of one micro-batch, without packing."""
    packing: Switch = True
    """Several samples in one row of at most SEQ_LEN tokens."""
    seq_len: int = 8192
    """Tokens of the longest sample; a longer one loses the end of its newest observation's tree."""
    image_num: int = 3
    """The most images one sample may have."""
    write: Literal["logprobs", "values", "features"] = "logprobs"
    """What: a policy's log-probabilities, a critic's values, or what a small critic learns from (feature_critic.sh)."""
    loss: Literal["answer", "all_answers", "all"] = "answer"
    """Which tokens are scored: the last reply, every reply, or everything but images."""
    token_logprobs: Switch = False
    """Also write each token's."""
    token_column: str = "token_logprobs"
    """What that column is called: reference_logprobs, for an algorithm that reads those."""
    algorithm: str = ""
    """Only what this algorithm reads of each token beside the samples' own, under its names; nothing where it reads
    none."""
    algorithm_options: str = ""
    """Its own options, the same as in training."""
    te: AutoSwitch = None
    """TransformerEngine's layers; auto: where it is installed."""
    host_gpu_num: int = 0
    """The most GPUs (on CPU: processes) to take; 0: all that CUDA_VISIBLE_DEVICES leaves."""

    def as_training(self) -> Config:
        """The options of training that scoring shares; adapters are those that the checkpoint has."""
        shared = {field.name for field in dataclasses.fields(Config)} - {"algorithm", "algorithm_options"}
        values = {name: value for name, value in vars(self).items() if name in shared}
        record = read_adapter_record(find_weights(self.checkpoint)[0])
        lora = {"lora_rank": record.rank, "lora_alpha": record.alpha} if record else {}
        return Config(**values, **lora, pretrain_checkpoint_path=self.checkpoint, ac="none", global_batch_size=64)

    @property
    def token_columns(self) -> tuple[str, ...]:
        """What the columns of tokens are called."""
        if self.algorithm:
            needs = algorithms.load(self.algorithm, self.algorithm_options).needs
            return tuple(name for name in needs.per_token if name != BEHAVIOR)
        return (self.token_column,) if self.token_logprobs else ()

    def made_of(self) -> dict[str, Any]:
        """What the file depends on."""
        return {
            "samples": file_digest(self.dataset_path / "manifest.json"),
            "critic" if self.write == "values" else "policy": fingerprint(find_weights(self.checkpoint)[0], "*.distcp"),
            "columns": list(self.token_columns),
            **{name: getattr(self, name) for name in ("write", "pr", "seq_len", "image_num", "loss")},
        }
