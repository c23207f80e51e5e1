"""dHash: 256 bits of how an image looks, of which few change when it is scaled, encoded anew or slightly edited.

Source: N. Krawetz, "Kind of Like That" (hackerfactor.com, 2013): shrink to gray, compare each pixel with its neighbor.
His 9x8 pixels tell photographs apart; pages of a site differ by less, so there are 17x16 here. A difference of up to
`_FLAT` of 255 counts as none, so that noise of JPEG on flat areas sets no bits.
"""

import io

import numpy as np
from PIL import Image

from data.images import opened, to_rgb

NUM_BITS = 256
NEAR = 7
"""Images look alike that differ in so many bits at most. JPEG at quality 80, or 3/4 of the size, change fewer."""
NUM_BANDS = 8
"""More than `NEAR`, so that two images which look alike have one band at least in common."""
_SIDE = 16
_FLAT = 2


def image_hash(content: bytes) -> int:
    """Of an encoded image, as a model is shown it; `UserError` where it is none."""
    with opened(io.BytesIO(content)) as image:
        small = to_rgb(image).convert("L").resize((_SIDE + 1, _SIDE), Image.Resampling.BOX)
    gray = np.asarray(small, dtype=np.int16)
    return int.from_bytes(np.packbits(gray[:, :-1] - gray[:, 1:] > _FLAT).tobytes(), "big")


def bands(bits: int) -> list[int]:
    """`NUM_BANDS` parts of a hash, each with its number in front. Every band has bits of the whole picture: else all
    pages with a blank part would have a band in common."""
    spread = np.unpackbits(np.frombuffer(bits.to_bytes(NUM_BITS // 8, "big"), np.uint8)).reshape(-1, NUM_BANDS).T
    parts = np.packbits(spread, axis=1)
    return [
        number << (NUM_BITS // NUM_BANDS) | int.from_bytes(row.tobytes(), "big") for number, row in enumerate(parts)
    ]


def look_alike(one: int, other: int) -> bool:
    """Whether at most `NEAR` bits differ."""
    return (one ^ other).bit_count() <= NEAR
