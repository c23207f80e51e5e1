"""What every model and its data agree on."""

IGNORE = -100
"""The label of a position without a loss."""


def image_share(num_images: int, rank: int, size: int) -> range:
    """Which of a micro-batch's images tensor-parallel rank `rank` of `size` encodes."""
    share = -(-num_images // size)
    return range(min(rank * share, num_images), min((rank + 1) * share, num_images))
