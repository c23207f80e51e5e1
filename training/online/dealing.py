"""From the first rank, which reads everything, to all others: their shares of samples, and what it decides."""

import json
from typing import Any

import torch
from torch import distributed

from training.batches.collate import Collator, Share, TokenizedSample
from training.batches.feed import PATIENCE, Replica
from training.batches.packing import deal_out
from training.batches.share_bytes import from_bytes, to_bytes
from training.critics.scoring import by_sample, holds_the_scores
from training.loop.parallel import Chunks
from training.loop.step import forward_only


class Dealer:
    """Every rank calls its methods together."""

    def __init__(self, collator: Collator, same_count: bool) -> None:
        """`same_count`: every replica gets as many samples, give or take one. A collective."""
        self.collator, self.same_count = collator, same_count
        ranks = list(range(distributed.get_world_size()))
        group = distributed.new_group(ranks, timeout=PATIENCE, backend="gloo") if len(ranks) > 1 else None
        self.ranks = Replica(ranks, group)

    @property
    def is_first(self) -> bool:
        """Whether this rank reads."""
        return self.ranks.reads

    def told(self, value: Any) -> Any:
        """The first rank's `value`, which JSON can hold."""
        return json.loads(self.ranks.broadcast(json.dumps(value).encode() if self.is_first else None))

    def own(self, samples: list[TokenizedSample] | None) -> Share:
        """This replica's share of the first rank's `samples`, with the keys of all; the others give None."""
        place, shares = self.collator.place, [[]] * self.collator.place.data_size
        if samples is not None:
            costs = [float(len(sample.ids)) for sample in samples]
            shares = deal_out(costs, place.data_size, self.same_count)
        own = Share([], [])
        for replica, indices in enumerate(shares):
            share = None
            if samples is not None:
                share = to_bytes(Share([one.key for one in samples], [samples[index] for index in indices]))
            content = self.ranks.broadcast(share)
            if replica == place.data_rank:
                own = from_bytes(content)
                assert own is not None
        return own

    def outputs(self, chunks: Chunks, samples: list[TokenizedSample] | None, seq_len: int) -> dict[str, torch.Tensor]:
        """What the model gives at the labels of the first rank's `samples`, [t] or [t, n] by key; no gradients."""
        share = self.own(samples)
        scored = forward_only(chunks, self.collator.collate(share.samples), seq_len, by_sample)
        own = dict(pair for pairs in scored for pair in pairs) if holds_the_scores() else {}
        everyone: list[dict[str, torch.Tensor]] = [{} for _ in range(distributed.get_world_size())]
        distributed.all_gather_object(everyone, own)
        found = {key: output for each in everyone for key, output in each.items()}
        return {key: found[key] for key in share.keys}
