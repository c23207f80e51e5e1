"""Does it look, does it read? What an agent is shown with every screenshot gray, or without trees."""

import base64
import dataclasses
import functools
import io

from PIL import Image

from collection.config.agent import Hidden
from data.images import opened
from environments.environment import Observation

GRAY = (128, 128, 128)


def shown(seen: Observation, hidden: Hidden) -> Observation:
    """What is shown of an observation; a gray screenshot has the size of the page's own."""
    if hidden == "tree":
        return dataclasses.replace(seen, tree="")
    if hidden == "screenshots":
        with opened(io.BytesIO(seen.screenshot_png)) as image:
            return dataclasses.replace(seen, screenshot_base64=_gray(image.size))
    return seen


@functools.lru_cache(maxsize=16)
def _gray(size: tuple[int, int]) -> str:
    file = io.BytesIO()
    Image.new("RGB", size, GRAY).save(file, "PNG")
    return base64.b64encode(file.getvalue()).decode()
