"""Idefics3's vision side: units are tiles."""

from models import vision

_SIDE = 4
"""The published processors scale an image's longest edge to four tiles."""


class VisionSide(vision.VisionSide):
    """A pixel shuffle and one projection connect it."""

    @property
    def units_per_image(self) -> int:
        """Of a square; a page of 1024 x 768 has 13."""
        return _SIDE * _SIDE + 1

    def connector_bytes(self, each: int) -> int:
        """The shuffled patches and the features, of which one is made of `scale_factor` squared patches."""
        return each * (self.hidden + self.config.text_config.hidden_size // self.config.scale_factor**2)
