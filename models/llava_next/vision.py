"""LLaVA-NeXT's vision side: units are tiles."""

from models import vision


class VisionSide(vision.VisionSide):
    """Otherwise LLaVA's."""

    @property
    def units_per_image(self) -> int:
        """The tiles of the largest grid, and the thumbnail."""
        largest = max(height * width for height, width in self.config.image_grid_pinpoints)
        return 1 + largest // self.config.vision_config.image_size**2
