"""Episodes of one step as samples: what is asked, a screenshot, and the click, without a folder for each.

They read as the sample of a trajectory of one step would (`data/samples/turn_samples.py`). An image that is a file
keeps its name; one that stands in a record becomes a file named by its content, once for all that ask about it. Where
the set tells the element's box, the sample keeps it for measuring (`data/samples/grounding.py`).
"""

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import xxhash

from common.errors import UserError
from data.action_spaces.space import ActionSpace, writable
from data.conversation import StepText, build_conversation
from data.samples.grounding import FIELD, Target
from data.shards.shard import image_type
from toolkits.readers.reading.pictures import check_picture
from toolkits.readers.reading.references import write_image
from toolkits.readers.reading.steps import record, sample_id
from toolkits.readers.research.episode_folders import Losses, said_step
from toolkits.readers.research.episodes import Episode


def episode_samples(
    name: str,
    episodes: Iterator[Episode],
    space: ActionSpace,
    image_dir: Path,
    round_id: int,
    losses: Losses,
    first: int = 1,
) -> Iterator[dict[str, Any]]:
    """One sample an episode, numbered from `first` on; those of several steps are refused.

    Raises:
        UserError: naming the episode.
    """
    for number, episode in enumerate(episodes, start=first):
        if not episode.steps:
            losses.episode(episode, 0)
            continue
        if len(episode.steps) != 1:
            raise UserError(f"{episode.where}: an episode of {len(episode.steps)} steps; give --result_dir for folders")
        step = said_step(name, episode.steps[0], episode.web, space, losses)
        if step is None:
            continue
        shown = step.tree if step.shown is None else step.shown
        text = StepText(tree=writable(shown), reply=writable(step.reply))
        turns = [turn.text for turn in build_conversation(writable(episode.ques), [text], 1).turns]
        image = _name(episode.where, episode.steps[0].image, image_dir)
        yield record(sample_id(name, number, round_id, 1), [image], turns, _target(episode))


def _target(episode: Episode) -> dict[str, Any]:
    step = episode.steps[0]
    if step.element is None:
        return {}
    left, top, width, height = step.boxes[step.element]
    target = Target(writable(episode.ques), [left, top, left + width, top + height], episode.platform, episode.kind)
    return {FIELD: dataclasses.asdict(target)}


def _name(where: str, image: Path | bytes, image_dir: Path) -> str:
    if isinstance(image, Path):
        check_picture(where, image)
        return str(image.relative_to(image_dir))
    try:
        name = f"{xxhash.xxh128_hexdigest(image)}.{image_type(image[:16])}"
    except UserError as error:
        raise UserError(f"{where}: {error}") from None
    if not (image_dir / name).exists():
        check_picture(where, image)
        write_image(where, image_dir / name, image)
    return name
