"""What DigiRL's and Digi-Q's files keep of a step beside its words: features, and other actions that were drawn.

    image_features         state_features        BLIP-2's, of the screenshot before the step (DigiRL, Digi-Q)
    next_image_features    next_state_features   of the one after it; a critic takes the following step's instead
    q_rep_out              action_features       of the action that was taken (Digi-Q)
    q_rep_out_list         action_features       of each action of `action_list`
    action_list            candidates            the taken action first: a list, or a text joined by `<split>`

A file of features is as `score.sh --write features` writes one, with a row for each sample and each candidate, which
`training/feature_critic.sh` takes; its columns are of one length there, so shorter ones end with zeros. A file of
candidates is as `collection/sample_candidates.py` writes one.
"""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy

from common.errors import UserError
from data.conversation import escape_special
from toolkits.readers.reading.torch_file import as_array

ACTION, STATE = "action_features", "state_features"
_NAMES = {STATE: "image_features", "next_state_features": "next_image_features", ACTION: "q_rep_out"}
_ROWS = 500  # of a Parquet row group: 16 KB each with 4096 numbers


@dataclasses.dataclass(frozen=True)
class StoredStep:
    """Of the sample `record`. features: [h] by column. candidates: replies beside the one that was taken, no two alike;
    candidate_features: [h] of each of them, or none of any."""

    where: str
    record: dict[str, Any]
    features: dict[str, numpy.ndarray]
    candidates: list[str]
    candidate_features: list[numpy.ndarray]


@dataclasses.dataclass
class Kept:
    """The steps that were read, if their features or candidates are `wanted`; else only which fields were left out."""

    wanted: frozenset[str] = frozenset()
    steps: list[StoredStep] = dataclasses.field(default_factory=list)
    left_out: set[str] = dataclasses.field(default_factory=set)

    def add(self, step: StoredStep) -> None:
        if self.wanted:
            self.steps.append(step)
        has = {"features": step.features, "candidates": step.candidates}
        self.left_out |= {name for name, value in has.items() if value and name not in self.wanted}


def actions_of(where: str, step: Mapping[str, Any]) -> list[str]:
    """`action_list`, in either form; [] where there is none."""
    actions = step.get("action_list") or []
    actions = actions.split("<split>") if isinstance(actions, str) else actions
    if not isinstance(actions, list) or not all(isinstance(action, str) for action in actions):
        raise UserError(f"{where}: its action_list is no list of texts")
    return actions


def stored_step(where: str, step: Mapping[str, Any], record: dict[str, Any]) -> StoredStep:
    """
    Raises:
        UserError: a feature is no array of numbers, or there are not as many of them as actions.
    """
    features = {
        column: found for column, name in _NAMES.items() if (found := _numbers(where, name, step.get(name))) is not None
    }
    actions, taken = actions_of(where, step), record["conversations"][-1]["value"]
    numbers = [n for n, text in enumerate(actions) if text != taken and text not in actions[:n]]
    every = _rows(where, step.get("q_rep_out_list"))
    if every and len(every) != len(actions):
        raise UserError(f"{where}: its q_rep_out_list is of {len(every)} actions, its action_list has {len(actions)}")
    of_others = [every[number] for number in numbers] if every else []
    return StoredStep(where, record, features, [actions[number] for number in numbers], of_others)


def check_kept(kept: Kept, source: Sequence[str]) -> None:
    """`UserError` where what is wanted is not there: no step has features, or other actions; or a step lacks features
    that others have, or has more or fewer numbers."""
    files = ", ".join(source)
    if "candidates" in kept.wanted and not any(step.candidates for step in kept.steps):
        raise UserError(f"{files}: no step has an action beside the one that was taken (action_list)")
    if "features" not in kept.wanted:
        return
    widths = _widths(kept.steps)
    if not widths:
        raise UserError(f"{files}: no step has features ({', '.join(_NAMES.values())})")
    for step in kept.steps:
        for column in (STATE, ACTION):
            if column in widths and column not in step.features:
                raise UserError(f"{step.where}: has no {_NAMES[column]}, as other steps have")


def write_features(path: Path, steps: Sequence[StoredStep], source: Sequence[str]) -> int:
    """The file of features of steps that were checked; returns its number of rows."""
    import pyarrow  # imported here, as below: most imports do without

    from data.shards.columns import write_columns

    widths = _widths(steps)
    width = max(widths.values())
    texts = {"id": pyarrow.string(), "digest": pyarrow.string()}
    lists = {column: pyarrow.list_(pyarrow.float32()) for column in widths}
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = (
        {**names, **{column: _padded(numbers, width) for column, numbers in features.items()}}
        for step in steps
        for names, features in _rows_of(step)
    )
    return write_columns(path, _chunks(rows), pyarrow.schema({**texts, **lists}), {"imported": list(source)})


def write_candidates(path: Path, steps: Sequence[StoredStep], source: Sequence[str]) -> int:
    """The file of candidates, a row for each sample; returns the number of candidates."""
    import pyarrow

    from data.shards.columns import digest_of, write_columns

    replies, tokens = pyarrow.list_(pyarrow.string()), pyarrow.list_(pyarrow.list_(pyarrow.int32()))
    texts = {"id": pyarrow.string(), "digest": pyarrow.string()}
    rows = (
        {
            "id": step.record["id"],
            "digest": digest_of(step.record["conversations"]),
            "candidates": step.candidates,
            "candidate_token_ids": [None] * len(step.candidates),
        }
        for step in steps
    )
    schema = pyarrow.schema({**texts, "candidates": replies, "candidate_token_ids": tokens})
    path.parent.mkdir(parents=True, exist_ok=True)
    write_columns(path, _chunks(rows), schema, {"imported": list(source)})
    return sum(len(step.candidates) for step in steps)


def _numbers(where: str, name: str, value: Any) -> numpy.ndarray | None:
    """[h] float32; None for what is not there, or empty."""
    if value is None:
        return None
    found = as_array(value)
    if found is None or found.dtype.kind not in "fiu":
        raise UserError(f"{where}: its {name} is no array of numbers")
    return found.astype(numpy.float32, copy=False).reshape(-1) if found.size else None


def _rows(where: str, value: Any) -> list[numpy.ndarray]:
    """Of q_rep_out_list: an array [n, h], or a list of n."""
    found = as_array(value)
    rows = value if isinstance(value, list) else [] if found is None or not found.size else list(found)
    read = [_numbers(where, "q_rep_out_list", row) for row in rows]
    numbers = [row for row in read if row is not None]
    if len(numbers) < len(read):
        raise UserError(f"{where}: an action of its q_rep_out_list has no numbers")
    return numbers


def _widths(steps: Sequence[StoredStep]) -> dict[str, int]:
    """How many numbers each column has; `UserError` where not all steps have as many."""
    widths: dict[str, int] = {}
    for step in steps:
        of_others = [(ACTION, numbers) for numbers in step.candidate_features]
        for column, numbers in (*step.features.items(), *of_others):
            if widths.setdefault(column, len(numbers)) != len(numbers):
                raise UserError(
                    f"{step.where}: has {len(numbers)} numbers of {_NAMES[column]}, others have {widths[column]}"
                )
    return widths


def _rows_of(step: StoredStep) -> Iterator[tuple[dict[str, str], dict[str, numpy.ndarray]]]:
    """(id and digest, features) of the sample, and of each candidate, called as `candidate_samples` calls it."""
    from data.shards.columns import digest_of

    turns = step.record["conversations"]
    yield {"id": step.record["id"], "digest": digest_of(turns)}, step.features
    others = zip(step.candidates, step.candidate_features, strict=bool(step.candidate_features))
    for number, (reply, numbers) in enumerate(others, start=1):
        said = [*turns[:-1], {"from": "gpt", "value": escape_special(reply)}]
        names = {"id": f"{step.record['id']}--c{number}", "digest": digest_of(said)}
        yield names, {**step.features, ACTION: numbers}


def _padded(numbers: numpy.ndarray, width: int) -> numpy.ndarray:
    return numpy.pad(numbers, (0, width - len(numbers)))


def _chunks(rows: Iterator[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    chunk: list[dict[str, Any]] = []
    for row in rows:
        chunk.append(row)
        if len(chunk) == _ROWS:
            yield chunk
            chunk = []
    yield chunk
