"""Score samples: how probable a checkpoint finds each sample's reply; or a critic's values; or features of a model.
Start it with `bash training/score.sh`.

One row of the Parquet file per sample, in the order of the shards:

    id, digest   as in the samples, and of what they say
    logprob      sum over the reply's tokens, natural logarithm
    num_tokens   of the reply
    perplexity   exp(-logprob / num_tokens)
    behavior_logprob   of the reply when it was sampled, where the samples say so; null elsewhere
    token_logprobs   of each of them, with --token_logprobs true, or under another name

or, with --write values, of a checkpoint that ALGORITHM=critic has trained

    value_1, value_2, or instruction_value   of the state: the critic reads the last token of the sample's prompt

or, with --write features

    state_features    [h]: the model's last hidden state, after its norm, at the last token of the prompt
    action_features   [h]: at the last token of the reply

Training takes the file as one of its COLUMN_FILES: `--token_logprobs true --token_column reference_logprobs`, or
`--algorithm webrl` for the names that one reads. The file appears when it is whole, says which policy it is of, and is
never replaced; a killed command is given again, and goes on.
"""

import dataclasses
import os
import sys
from pathlib import Path
from typing import Any, Literal

from common import cli
from common.files import file_digest
from common.switch import AutoSwitch, Switch
from data.adapter_record import read_adapter_record
from data.checkpoint_folder import find_weights, fingerprint
from data.columns import is_written
from data.shard import read_manifest
from models.registry import family
from training import algorithms, torchrun
from training.columns import BEHAVIOR
from training.config import Config, parse_with_environment
from training.devices import plan_ranks
from training.launch import check_kernels, check_sizes
from training.modules.language import check_layout
from training.survey import check_samples


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


def main(config: ScoreConfig) -> int:
    """Check, then score under torchrun with this process's own flags and environment."""
    if config.algorithm and not config.token_columns:
        print(f"{config.algorithm} reads no log-probabilities but the samples' own; nothing to score")
        return 0
    training = config.as_training()
    ranks = plan_ranks(training.layout, replicas=config.dp, per_host=config.host_gpu_num)
    manifest = read_manifest(config.dataset_path)
    _, hf_files = find_weights(config.checkpoint)
    hf = family(hf_files).read_config(hf_files)
    check_layout(hf, training.layout)
    check_kernels(training, hf)
    batch = config.batch_size * ranks.replicas
    check_sizes(dataclasses.replace(training, global_batch_size=batch), ranks.per_host)
    check_samples(config.dataset_path, manifest, config.image_num, hf_files)
    if is_written(config.output, config.made_of()):
        return 0
    if ranks.note:
        print(ranks.note)
    return torchrun.start("training.score", ranks.per_host, torchrun.Hosts())


def rank_main(config: ScoreConfig) -> None:
    """What each rank does; heavy imports wait until here."""
    from training.modules import kernels

    kernels.prepare(config.te)
    from training.scoring import score

    score(config)


if __name__ == "__main__":
    parsed = parse_with_environment(ScoreConfig, "score.sh")
    if "LOCAL_RANK" in os.environ:
        torchrun.run_rank(rank_main, parsed)
    else:
        sys.exit(cli.guarded(main, parsed))
