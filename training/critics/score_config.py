"""Flags of `score.sh`: which checkpoint scores which samples, and how."""

import dataclasses
from pathlib import Path
from typing import Annotated, Any, Literal

from common.files import file_digest
from common.options.flags import narrowed
from common.options.limits import at_least
from common.options.switch import Switch
from data.adapter_record import read_adapter_record
from data.checkpoint_folder import critic_of, find_weights, fingerprint
from models.tokens.encoding import Reads
from training import algorithms
from training.batches.columns import BEHAVIOR
from training.config import Config
from training.options import ModelOptions
from training.samples.left_out import LeftOut


@dataclasses.dataclass(frozen=True, kw_only=True)
class ScoreConfig(ModelOptions):
    """Log-probabilities of every sample's reply under a checkpoint."""

    checkpoint: Path
    """Megatron checkpoint folder, or one iteration of it."""
    dataset_path: Path
    """Folder of webdataset shards, or of tars that others made; all splits are scored."""
    output: Path
    """The Parquet file to write."""
    write: Literal["logprobs", "values", "features"] = "logprobs"
    """What: a policy's log-probabilities, a critic's values, or what a small critic learns from (feature_critic.sh)."""
    after_question: Switch = False
    """Features of actions are those of the answer whether they changed the screen (make_representation_data.py)."""
    token_logprobs: Switch = False
    """Also write each token's."""
    token_column: str = "token_logprobs"
    """What that column is called: reference_logprobs, for an algorithm that reads those."""
    algorithm: str = ""
    """Only what this algorithm reads of each token beside the samples' own, under its names; nothing where it reads
    none."""
    algorithm_options: str = ""
    """Its own options, the same as in training."""
    tp: Annotated[int, at_least(1)] = 1
    """Tensor-parallel size."""
    packing: Switch = True
    """Several samples in one row of at most SEQ_LEN tokens."""

    def as_training(self) -> Config:
        """The options of training that scoring shares; adapters are those that the checkpoint has."""
        record = read_adapter_record(find_weights(self.checkpoint)[0])
        lora = {"lora_rank": record.rank, "lora_alpha": record.alpha} if record else {}
        own = {"algorithm": "sft", "algorithm_options": "", "ac": "none"}
        return narrowed(Config, self, **own, **lora, pretrain_checkpoint_path=self.checkpoint)

    @property
    def at_drawn(self) -> bool:
        """Whether log-probabilities are those at the temperature that a reply was drawn at: where the algorithm
        compares them with those of the policy that drew it."""
        return (
            bool(self.algorithm) and BEHAVIOR in algorithms.load(self.algorithm, self.algorithm_options).needs.per_token
        )

    @property
    def token_columns(self) -> tuple[str, ...]:
        """What the columns of tokens are called."""
        if self.algorithm:
            needs = algorithms.load(self.algorithm, self.algorithm_options).needs
            return tuple(name for name in needs.per_token if name != BEHAVIOR)
        return (self.token_column,) if self.token_logprobs else ()

    @property
    def reads(self) -> Reads:
        """Which tokens of a sample are asked for."""
        if self.write == "features":
            return "state_and_change" if self.after_question else "state_and_action"
        return "state" if self.write == "values" else self.loss

    @property
    def left_out(self) -> LeftOut:
        """What is not scored, as the launcher found."""
        return LeftOut.read(self.left_out_path)

    @property
    def left_out_path(self) -> Path:
        return self.output.with_name(f"{self.output.name}.left_out.jsonl")

    def made_of(self) -> dict[str, Any]:
        """What the file depends on."""
        weights = find_weights(self.checkpoint)[0]
        return {
            "samples": file_digest(self.dataset_path / "manifest.json"),
            "critic" if self.write == "values" else "policy": fingerprint(weights, "*.distcp"),
            "columns": list(self.token_columns),
            **({"critic_of": of} if self.write == "values" and (of := critic_of(weights)) else {}),
            **({"at_drawn": True} if self.at_drawn else {}),
            **({"left_out": left_out} if (left_out := self.left_out.keys) else {}),
            **({"after_question": True} if self.after_question else {}),
            **{name: getattr(self, name) for name in ("write", "pr", "seq_len", "image_num", "loss")},
        }
