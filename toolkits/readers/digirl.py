"""DigiRL's and Digi-Q's trajectories of Android episodes (`*.pt`), as samples with their rewards.

DigiRL's `image_path` is the screenshot *after* the step, so a step shows the one of the step before, and the first step
of an episode, whose screenshot is not in the file, gives no sample. Digi-Q's is the screenshot before the step, with
the one after it in `next_image_path`.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from toolkits.readers.steps import enumerate_steps, find_image, record, rewarded, sample_id, text_field


def read_digirl(path: Path, image_dir: Path, round_id: int) -> Iterator[dict[str, Any]]:
    """One sample a step: the observation text with its screenshot, and the raw action."""
    for where, number, index, trajectory in enumerate_steps(path):
        step = trajectory[index - 1]
        shown = step if "next_image_path" in step else trajectory[index - 2] if index > 1 else None
        if shown is None:
            continue
        image = find_image(where, image_dir, text_field(where, shown, "image_path"))
        observation = text_field(where, step, "observation").removesuffix("</s>")
        turns = (f"<image>\n{observation}", text_field(where, step, "action"))
        identifier = sample_id(path.stem, number, round_id, index)
        yield record(identifier, [image], turns, rewarded(where, step, identifier))
