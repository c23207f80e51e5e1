"""Whole trajectory: one sample for several steps, so that one forward pass learns all their replies.

It is the turn sample of the last of them (`toolkits/convert_trajectories_to_json.py`) with one field more:

    earlier_steps   for each step before, oldest first, what else its turn sample says: id, reward, token_ids, ...

Steps join where turns and screenshots of each are word for word the beginning of the next one's. So the turn samples
can be had back, and whoever reads single steps (scores, columns, rewards) reads those.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from common.errors import UserError
from common.options.fields import fits
from data.conversation import IMAGE

EARLIER = "earlier_steps"
_OF_THE_WHOLE = ("conversations", "images", "num_images")

Fields = dict[str, Any]


def join_steps(samples: Sequence[Fields]) -> list[Fields]:
    """A trajectory's turn samples, of which the first that join are one."""
    count = min(1, len(samples))
    while count < len(samples) and _begins(samples[count - 1], samples[count]):
        count += 1
    if count < 2:
        return list(samples)
    own = [{name: value for name, value in one.items() if name not in _OF_THE_WHOLE} for one in samples[: count - 1]]
    return [{**samples[count - 1], EARLIER: own}, *samples[count:]]


def _begins(sample: Fields, following: Fields) -> bool:
    return all(
        following[name][: len(sample[name])] == sample[name] for name in ("conversations", "images") if name in sample
    )


def split_steps(fields: Mapping[str, Any]) -> list[Fields]:
    """The turn samples that a sample's fields stand for, as a rule one; they have the first of its images.

    Raises:
        UserError: `earlier_steps` are none.
    """
    if EARLIER not in fields:
        return [dict(fields)]
    earlier, turns = fields[EARLIER], fields["conversations"]
    if not (fits(earlier, list[dict[str, Any]]) and all(isinstance(step.get("id"), str) for step in earlier)):
        raise UserError(f"sample {fields['id']}: {EARLIER} must be a list of objects, each with an id")
    if 2 * (len(earlier) + 1) != len(turns):
        raise UserError(f"sample {fields['id']}: {len(earlier)} {EARLIER} but {len(turns)} turns")
    steps = [*earlier, {name: value for name, value in fields.items() if name not in (*_OF_THE_WHOLE, EARLIER)}]
    return [_turn_sample(step, fields, turns[: 2 * number]) for number, step in enumerate(steps, start=1)]


def _turn_sample(step: Fields, whole: Mapping[str, Any], turns: list[dict[str, str]]) -> Fields:
    num_images = sum(turn["value"].count(IMAGE) for turn in turns)
    images = {"images": whole["images"][:num_images]} if "images" in whole else {}
    return {**step, "conversations": turns, **images, "num_images": num_images}
