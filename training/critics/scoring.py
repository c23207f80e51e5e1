"""What one rank does to score samples: forward passes only, rows gathered on the first rank."""

import dataclasses
import math
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

import pyarrow
import torch
from megatron.core import parallel_state
from megatron.core.transformer.module import Float16Module

from common.errors import UserError
from data.checkpoint_folder import find_weights
from data.shards.column_parts import ColumnParts
from data.shards.columns import digest_of
from models.processor import load_processor
from models.registry import family
from models.tokens.encoding import ConversationEncoder
from models.weight_table import value_heads_in
from training import layout
from training.batches.collate import Collator, MicroBatch, Share, TokenizedSample
from training.batches.dataset import in_batches, tokenize_share
from training.batches.feed import Replica
from training.checkpoints import checkpoint
from training.critics.score_config import ScoreConfig
from training.loop.step import forward_only
from training.modules import torch_dist
from training.modules.batching import IGNORE
from training.modules.registry import model_class
from training.modules.vision_language import VisionLanguageModel
from training.samples.stored_sample import StoredSample, read_in_order
from training.train import build_collator, build_cost_model

_WINDOW = 64
"""Samples that are read, packed and written together, for each replica."""

_LIST = pyarrow.list_(pyarrow.float32())


@dataclasses.dataclass(frozen=True)
class _Rows:
    """Columns and how they are made: of a sample, and of the output at the tokens that are asked for, [t] or [t, n]."""

    columns: dict[str, pyarrow.DataType]
    row: Callable[[TokenizedSample, torch.Tensor], dict[str, Any]]


def score(config: ScoreConfig) -> None:
    """Score all samples and write the file, which appears when it is whole."""
    training = config.as_training()
    layout.initialize(training.layout, seed=0)
    weights, hf_files = find_weights(config.checkpoint)
    kind = family(hf_files)
    hf = kind.read_config(hf_files)
    heads = value_heads_in(torch_dist.tensor_shapes(weights)) if config.write == "values" else ()
    rows = _rows(config, heads)
    model = model_class(kind)(hf, training.layout, dataclasses.replace(training.trainable, value_heads=heads), None)
    checkpoint.load_model([model.eval()], weights)
    if config.write == "features":
        give_hidden_states(model)
    chunk = Float16Module(model.config, model) if training.layout.bf16 else model
    processor = load_processor(hf_files)
    image_encoder = kind.image_encoder(processor, hf)
    collator = build_collator(training, image_encoder)
    encoder = ConversationEncoder(processor, image_encoder, config.seq_len, config.image_num, config.reads)
    cost_model = build_cost_model(training, kind, hf, encoder)
    parts = _parts(config, rows) if torch.distributed.get_rank() == 0 else None
    done = [parts.num_rows if parts else 0]
    torch.distributed.broadcast_object_list(done)
    if parts and done[0]:
        print(f"{config.output}: goes on after {done[0]} samples", flush=True)
    place = collator.place
    shares = (
        tokenize_share(cost_model, window, place.data_rank, place.data_size, at_drawn=config.at_drawn)
        for window in in_batches(_after(config, done[0]), _WINDOW * place.data_size)
    )
    said = (digest_of(sample.fields["conversations"]) for sample in _after(config, done[0]))
    for share in Replica.own(place.data_rank).receive(shares):
        scored = _score_share(chunk, collator, share, config.seq_len, rows)
        if parts:
            parts.append([{**row, "digest": next(said)} for row in scored])
    if parts:
        parts.finish()
        print(f"{config.output}: {parts.num_rows} samples")
    layout.finalize()


def _rows(config: ScoreConfig, heads: tuple[str, ...]) -> _Rows:
    """What `config` asks to be written."""
    if config.write == "features":
        names = ("state_features", "action_features")
        return _Rows(
            dict.fromkeys(names, _LIST),
            lambda sample, output: dict(zip(names, output.numpy(), strict=True)),
        )
    if config.write == "values":
        if not heads:
            raise UserError(f"{config.checkpoint}: has no value heads; train them with ALGORITHM=critic")
        return _Rows(
            dict.fromkeys(heads, pyarrow.float64()),
            lambda sample, output: dict(zip(heads, output[0].sigmoid().tolist(), strict=True)),
        )
    columns = {"logprob": pyarrow.float64(), "num_tokens": pyarrow.int32()}
    columns |= dict.fromkeys(("perplexity", "behavior_logprob"), pyarrow.float64())
    names = config.token_columns
    return _Rows(
        {**columns, **dict.fromkeys(names, _LIST)},
        lambda sample, output: {**_logprobs(sample, (-output).tolist()), **dict.fromkeys(names, (-output).tolist())},
    )


def _after(config: ScoreConfig, done: int) -> Iterator[StoredSample]:
    return islice(read_in_order(config.dataset_path, left_out=config.left_out.keys), done, None)


def give_hidden_states(model: VisionLanguageModel) -> None:
    """Let the model give what a value head would read: the last layer's normed output."""
    if model.post_process:
        model.language_model.value_heads = torch.nn.Identity()


def _parts(config: ScoreConfig, rows: _Rows) -> ColumnParts:
    schema = pyarrow.schema({"id": pyarrow.string(), "digest": pyarrow.string(), **rows.columns})
    return ColumnParts(config.output, schema, config.made_of())


def _score_share(chunk: Any, collator: Collator, share: Share, seq_len: int, rows: _Rows) -> list[dict[str, Any]]:
    """Rows of all replicas' samples in their order, on every rank."""
    scored = forward_only([chunk], collator.step(share).micro_batches, seq_len, by_sample)
    outputs = dict(pair for pairs in scored for pair in pairs)
    own = [
        {"id": sample.key, **rows.row(sample, outputs[sample.key])} for sample in share.samples if holds_the_scores()
    ]
    everyone: list[list[dict[str, Any]]] = [[] for _ in range(torch.distributed.get_world_size())]
    torch.distributed.all_gather_object(everyone, own)
    by_key = {row["id"]: row for rows in everyone for row in rows}
    return [by_key[key] for key in share.keys]


def by_sample(batch: MicroBatch, output: torch.Tensor, non_loss_data: bool = True) -> list[tuple[str, torch.Tensor]]:
    """(key, the output at its labels) of the samples of a micro-batch; `output` [b, s] or [b, s, n]."""
    group = parallel_state.get_context_parallel_group()
    if group.size() > 1:
        torch.distributed.all_reduce(output, group=group)
    own = output[batch.labels != IGNORE].float().cpu().split(batch.columns.num_tokens.tolist())
    return list(zip(batch.keys, own, strict=True))


def holds_the_scores() -> bool:
    """One rank of each replica."""
    first = parallel_state.get_tensor_model_parallel_rank() == 0 and parallel_state.get_context_parallel_rank() == 0
    return first and parallel_state.is_pipeline_last_stage()


def perplexity(logprobs: Sequence[float]) -> float:
    """Of a sample's predicted tokens."""
    return math.exp(min(-math.fsum(logprobs) / len(logprobs), 700.0))


def _logprobs(sample: TokenizedSample, logprobs: list[float]) -> dict[str, Any]:
    logprob = math.fsum(logprobs)
    return {
        "logprob": logprob,
        "num_tokens": len(logprobs),
        "perplexity": perplexity(logprobs),
        "behavior_logprob": None if sample.behavior_logprobs is None else sample.behavior_logprobs.nansum().item(),
    }
