"""Candidate actions as samples of their own: what else might have been done at a step, with all that it showed."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from common.errors import UserError
from data.conversation import escape_special
from data.shards.columns import DIGEST, ID, digest_of, names_in, read_rows
from data.shards.shard import Sample

COLUMNS = ("candidates", "candidate_token_ids")
_OF_WHAT_WAS_DONE = ("token_ids", "logprobs", "weights_version", "sampling", "weight")


def with_candidates(samples: Sequence[Sample], path: Path, is_held_out: Callable[[Sample], bool]) -> list[Sample]:
    """All samples, each with its candidates behind it, called `<its id>--c<number>`; held-out ones have none.

    Raises:
        UserError: `path` is no file of candidates, or was not made for these samples.
    """
    if missing := {DIGEST, *COLUMNS} - names_in(path):
        raise UserError(f"{path}: has no column {min(missing)}; make it with collection/sample_candidates.py")
    rows = {row[ID]: row for row in read_rows(path)}
    if broken := next((name for name, row in rows.items() if not _is_whole(row)), None):
        raise UserError(f"{path}: sample {broken}: its candidates are no texts with their token ids")
    found = []
    for sample in samples:
        found.append(sample)
        if is_held_out(sample):
            continue
        row = rows.get(sample.id)
        if row is None or row[DIGEST] != digest_of(sample.conversations):
            raise UserError(f"{path}: was made for other samples than {sample.id}; draw candidates for these")
        found += [candidate(sample, number, row) for number in range(1, len(row["candidates"]) + 1)]
    return found


def _is_whole(row: dict[str, Any]) -> bool:
    texts, ids = (row.get(name) for name in COLUMNS)
    if not (isinstance(texts, list) and isinstance(ids, list) and len(texts) == len(ids)):
        return False
    numbers = [number for one in ids for number in one or ()]
    return all(isinstance(text, str) for text in texts) and all(isinstance(number, int) for number in numbers)


def candidate(sample: Sample, number: int, row: dict[str, Any]) -> Sample:
    """A sample whose last reply is that candidate, from 1 on."""
    extra = {name: value for name, value in sample.extra.items() if name not in _OF_WHAT_WAS_DONE}
    if token_ids := row["candidate_token_ids"][number - 1]:
        extra["token_ids"] = token_ids
    reply = {"from": "gpt", "value": escape_special(row["candidates"][number - 1])}
    turns = [*sample.conversations[:-1], reply]
    return Sample(f"{sample.id}--c{number}", turns, sample.images, {**extra, "candidate": number})
