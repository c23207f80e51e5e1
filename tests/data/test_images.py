"""What is transparent becomes white in strips: the same pixels as of the whole image, in a third of its memory."""

import os
from pathlib import Path

import pytest
from PIL import Image

from data import images
from data.images import opened, to_rgb
from tests.adversary.test_damaged_files import peak, reset_peak


@pytest.mark.parametrize("mode", ["RGBA", "LA", "P", "L", "RGB", "1"])
@pytest.mark.parametrize("size", [(1, 1), (7, 31), (40, 3), (300, 2)])
def test_strips_are_as_the_whole(mode: str, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "_STRIP_PIXELS", 100)
    image = Image.frombytes("RGBA", size, os.urandom(4 * size[0] * size[1])).convert(mode)
    transparent = {"P": os.urandom(256), "L": 0, "1": 0, "RGB": image.getpixel((0, 0)) if mode == "RGB" else None}
    if mode in transparent:
        image.info["transparency"] = transparent[mode]
    whole = Image.alpha_composite(Image.new("RGBA", size, "white"), image.convert("RGBA")).convert("RGB")
    assert to_rgb(image).tobytes() == whole.tobytes()


def test_a_large_transparent_image_takes_little_more_than_its_pixels(tmp_path: Path) -> None:
    image = Image.new("P", (7000, 7000))
    image.save(tmp_path / "large.png", transparency=0)
    del image
    before = reset_peak()
    with opened(tmp_path / "large.png") as image:
        assert to_rgb(image).getpixel((0, 0)) == (255, 255, 255)
    assert peak() - before < 350 * 2**20  # 420 as a whole
