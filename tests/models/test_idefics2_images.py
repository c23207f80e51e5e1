"""Idefics2's pixels: a picture resized before Hugging Face's processor gets it is what that makes of it, bit by bit."""

import random

import pytest
import torch
from PIL import Image

from common.defaults import STARTING_POLICY
from models.processor import load_processor
from models.registry import family


def noise(height: int, width: int, mode: str = "RGB") -> Image.Image:
    channels = len(Image.new(mode, (1, 1)).getbands())
    return Image.frombytes(mode, (width, height), random.Random(height * width).randbytes(height * width * channels))


SIZES = [{"longest_edge": 160, "shortest_edge": 120}, {"longest_edge": 98, "shortest_edge": 98}]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("splits", [False, True])
def test_pixels_are_hugging_faces(size: dict[str, int], splits: bool) -> None:
    """Pages, narrow and low pictures, small ones that grow, one with transparency; alone and together."""
    processor = load_processor(STARTING_POLICY)
    kind, images = family(STARTING_POLICY), processor.image_processor
    images.size, images.do_image_splitting = type(images.size)(**size), splits
    encoder = kind.image_encoder(processor, kind.read_config(STARTING_POLICY))
    pictures = [noise(*shape) for shape in [(768, 1024), (1024, 768), (30, 700), (700, 31), (50, 40), (160, 160)]]
    for given in [*([picture] for picture in pictures), pictures, [noise(200, 300, "RGBA")]]:
        made, own = encoder.encode(given), images(images=[given], return_tensors="pt")
        assert torch.equal(made["pixel_values"], own["pixel_values"][0])
        if len(given) == 1:
            assert torch.equal(encoder.process(given[0])["pixel_attention_mask"], own["pixel_attention_mask"])
