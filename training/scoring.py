"""What one rank does to score samples: forward passes only, rows gathered on the first rank."""

import math
from typing import Any

import pyarrow
import torch
from megatron.core import parallel_state
from megatron.core.transformer.module import Float16Module

from data.checkpoint_folder import find_weights
from data.columns import write_columns
from models.processor import load_processor
from models.registry import family
from training import checkpoint, layout
from training.collate import Collator, MicroBatch, Share, TokenizedSample
from training.dataset import in_batches, tokenize_share
from training.feed import Replica
from training.modules.batching import IGNORE
from training.modules.registry import model_class
from training.score import ScoreConfig
from training.step import forward_only
from training.stored_sample import read_in_order
from training.train import build_collator, build_encoder

_WINDOW = 64
"""Samples that are read, packed and written together, for each replica."""

_SCHEMA = pyarrow.schema(
    [("id", pyarrow.string()), ("logprob", pyarrow.float64()), ("num_tokens", pyarrow.int32())]
    + [(name, pyarrow.float64()) for name in ("perplexity", "behavior_logprob")]
)


def score(config: ScoreConfig) -> None:
    """Score all samples and write the file, which appears when it is whole."""
    training = config.as_training()
    layout.initialize(training.layout, seed=0)
    weights, hf_files = find_weights(config.checkpoint)
    kind = family(hf_files)
    hf = kind.read_config(hf_files)
    model = model_class(kind)(hf, training.layout, training.trainable, None).eval()
    checkpoint.load_model([model], weights)
    chunk = Float16Module(model.config, model) if training.layout.bf16 else model
    processor = load_processor(hf_files)
    image_encoder = kind.image_encoder(processor, hf)
    collator = build_collator(training, image_encoder)
    encoder, place = build_encoder(training, processor, image_encoder), collator.place
    shares = (
        tokenize_share(encoder, window, place.data_rank, place.data_size)
        for window in in_batches(read_in_order(config.dataset_path), _WINDOW * place.data_size)
    )
    token_column = config.token_column if config.token_logprobs else None
    tables = (
        _score_share(chunk, collator, share, config.seq_len, token_column)
        for share in Replica.own(place.data_rank).receive(shares)
    )
    tokens = [pyarrow.field(token_column, pyarrow.list_(pyarrow.float32()))] if token_column else []
    schema = pyarrow.schema([*_SCHEMA, *tokens])
    if torch.distributed.get_rank() == 0:
        print(f"{config.output}: {write_columns(config.output, tables, schema)} samples")
    else:
        for _ in tables:
            pass
    layout.finalize()


def _score_share(
    chunk: Any, collator: Collator, share: Share, seq_len: int, token_column: str | None
) -> list[dict[str, Any]]:
    """Rows of all replicas' samples in their order, on every rank."""
    scored = forward_only([chunk], collator.step(share).micro_batches, seq_len, _token_logprobs)
    logprobs = dict(pair for pairs in scored for pair in pairs)
    own = [_row(sample, logprobs[sample.key], token_column) for sample in share.samples if _holds_the_scores()]
    everyone: list[list[dict[str, Any]]] = [[] for _ in range(torch.distributed.get_world_size())]
    torch.distributed.all_gather_object(everyone, own)
    by_key = {row["id"]: row for rows in everyone for row in rows}
    return [by_key[key] for key in share.keys]


def _token_logprobs(batch: MicroBatch, losses: torch.Tensor, non_loss_data: bool = True) -> list[tuple[str, list]]:
    """(key, log-probabilities of the scored tokens) of the samples of a micro-batch; `losses` [b, s]."""
    group = parallel_state.get_context_parallel_group()
    if group.size() > 1:
        torch.distributed.all_reduce(losses, group=group)
    by_sample = (-losses[batch.labels != IGNORE]).split(batch.columns.num_tokens.tolist())
    return [(key, logprobs.tolist()) for key, logprobs in zip(batch.keys, by_sample, strict=True)]


def _holds_the_scores() -> bool:
    """One rank of each replica."""
    first = parallel_state.get_tensor_model_parallel_rank() == 0 and parallel_state.get_context_parallel_rank() == 0
    return first and parallel_state.is_pipeline_last_stage()


def _row(sample: TokenizedSample, logprobs: list[float], token_column: str | None) -> dict[str, Any]:
    logprob = math.fsum(logprobs)
    row = {
        "id": sample.key,
        "logprob": logprob,
        "num_tokens": len(logprobs),
        "perplexity": math.exp(min(-logprob / len(logprobs), 700.0)),
        "behavior_logprob": None if sample.behavior_logprobs is None else sample.behavior_logprobs.nansum().item(),
    }
    return {**row, token_column: logprobs} if token_column else row
