"""What every model and its data agree on."""

import dataclasses

import torch

from models.images import Pixels

IGNORE = -100
"""The label of a position without a loss."""


@dataclasses.dataclass(frozen=True)
class Images:
    """The images of a micro-batch. A unit is what a vision tower takes one of: an image, or a tile of one."""

    pixels: Pixels | None
    """This rank's share (`image_share`) of the units; None when it has none, or is not on the first pipeline stage."""
    num_units: int
    """Of the whole micro-batch."""
    sizes: torch.Tensor
    """[images, 2]: height and width in pixels of every image of the micro-batch."""
    num_features: tuple[int, ...] = ()
    """Of each of them."""

    def to(self, device: torch.device) -> "Images":
        """A copy whose pixels are on `device`; the sizes stay on the CPU, where they are read."""
        if self.pixels is None:
            return self
        pixels = {name: tensor.to(device, non_blocking=True) for name, tensor in self.pixels.items()}
        return dataclasses.replace(self, pixels=pixels)


NO_IMAGES = Images(None, 0, torch.zeros(0, 2, dtype=torch.long))


def image_share(num_units: int, rank: int, size: int) -> range:
    """Which of a micro-batch's units are encoded by rank `rank` of the `size` that work on a sequence together."""
    share = -(-num_units // size)
    return range(min(rank * share, num_units), min((rank + 1) * share, num_units))
