"""Images are known again by their bytes and by their looks, in one pass, and no pair that looks alike is missed."""

import io
import random
from pathlib import Path

from PIL import Image, ImageDraw

from toolkits.shards.image_hash import NEAR, NUM_BITS, bands, image_hash, look_alike
from toolkits.shards.seen import Seen


def page(number: int) -> Image.Image:
    """Texts at places of its own on white."""
    rng, image = random.Random(number), Image.new("RGB", (640, 480), "white")
    draw = ImageDraw.Draw(image)
    for _ in range(60):
        x, y = rng.randrange(600), rng.randrange(460)
        draw.rectangle((x, y, x + rng.randrange(20, 200), y + rng.randrange(6, 40)), tuple(rng.randbytes(3)))
    return image


def encoded(image: Image.Image, kind: str = "PNG", **how: int) -> bytes:
    file = io.BytesIO()
    image.save(file, kind, **how)
    return file.getvalue()


def test_a_page_looks_like_itself_scaled_or_encoded_anew_and_like_no_other() -> None:
    hashes = [image_hash(encoded(page(number))) for number in range(20)]
    assert not any(look_alike(one, other) for at, one in enumerate(hashes) for other in hashes[:at])
    for number, known in enumerate(hashes):
        again = (encoded(page(number), "JPEG", quality=80), encoded(page(number).resize((480, 360))))
        assert all(look_alike(known, image_hash(content)) for content in again)
    blank = image_hash(encoded(Image.new("RGB", (64, 48), "white")))
    assert blank == 0 and not any(look_alike(blank, one) for one in hashes)


def test_what_looks_alike_has_a_band_in_common() -> None:
    rng = random.Random(0)
    for _ in range(300):
        bits = rng.getrandbits(NUM_BITS)
        near = bits
        for place in rng.sample(range(NUM_BITS), NEAR):
            near ^= 1 << place
        assert look_alike(bits, near) and {*bands(bits)} & {*bands(near)}
        assert not look_alike(bits, near ^ (1 << next(at for at in range(NUM_BITS) if not (bits ^ near) >> at & 1)))


def test_images_and_keys_are_known_again_also_by_another_process(tmp_path: Path) -> None:
    seen = Seen(tmp_path / "seen.sqlite")
    first, other = seen.image(encoded(page(1))), seen.image(encoded(page(2)))
    again, alike = seen.image(encoded(page(1))), seen.image(encoded(page(1), "JPEG", quality=80))
    assert (first.is_new, first.is_new_look, again.is_new, alike.is_new, alike.is_new_look) == (
        *(True, True, False, True),
        False,
    )
    assert first.alike == again.alike == alike.alike != other.alike and first.digest == again.digest != alike.digest
    assert (seen.mark("id", b"a"), seen.mark("id", b"a"), seen.mark("id", b"a", "val")) == ([], [""], [""])
    seen.count("site", "Shop")
    seen.database.commit()
    seen.mark("id", b"b")  # never told: a killed process has not seen it
    seen.close()
    later = Seen(tmp_path / "seen.sqlite")
    assert sorted(later.splits_of("id", b"a")) == ["", "val"] and not later.splits_of("id", b"b")
    assert later.counted("site", "Shop") == 1 and later.image(encoded(page(2))).alike == other.alike
    without = Seen(near=False)
    assert without.image(encoded(page(1))).alike != without.image(encoded(page(1), "JPEG", quality=80)).alike
