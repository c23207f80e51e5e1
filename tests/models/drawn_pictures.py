"""Encoded pictures of odd kinds, as they are found: every mode, orientation, transparency and shape, drawn by seed."""

import io
import random
import zlib
from collections.abc import Callable, Iterable, Iterator

import numpy as np
from PIL import Image, ImageCms
from PIL.PngImagePlugin import PngInfo

from data.images import PNG, PNG_CHUNK

_XMP = '<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:Description tiff:Orientation="6"/></x:xmpmeta>'
_SHAPES = ((64, 48), (48, 64), (90, 60), (33, 131), (131, 33), (28, 28), (224, 150), (40, 400))


def drawn(seed: int) -> Iterator[tuple[str, bytes]]:
    """(name, encoded file) of 62 pictures."""
    rng = random.Random(seed)
    for mode in ("RGB", "RGBA", "L", "LA", "1", "P", "I;16"):
        for number in range(2):
            yield f"{mode} png {number}", _png(_picture(rng, mode))
    for mode in ("RGB", "L", "CMYK"):
        yield f"{mode} jpeg", _encoded(_picture(rng, mode), "JPEG", quality=rng.randint(30, 95))
        yield f"{mode} jpeg, progressive", _encoded(_picture(rng, mode), "JPEG", progressive=True)
    for mode in ("RGB", "RGBA"):
        yield f"{mode} webp", _encoded(_picture(rng, mode), "WEBP", lossless=True)
        yield f"{mode} webp, lossy", _encoded(_picture(rng, mode), "WEBP", quality=50)
    for orientation in range(2, 9):
        exif = Image.Exif()
        exif[0x0112] = orientation
        yield f"jpeg turned {orientation}", _encoded(_picture(rng, "RGB"), "JPEG", exif=exif)
        yield f"png turned {orientation}", _encoded(_picture(rng, "RGBA"), "PNG", exif=exif)
    for orientation, kind in ((6, "WEBP"), (3, "WEBP"), (9, "JPEG"), (0, "PNG")):
        exif = Image.Exif()
        exif[0x0112] = orientation
        yield f"{kind} turned {orientation}", _encoded(_picture(rng, "RGB"), kind, exif=exif)
    said = PngInfo()
    said.add_itxt("XML:com.adobe.xmp", _XMP)
    yield "png turned by its XMP data", _encoded(_picture(rng, "RGB"), "PNG", pnginfo=said)
    exif = Image.Exif()
    exif[0x0112] = 6
    yield "png turned behind its pixels", last_chunk(_png(_picture(rng, "RGB")), b"eXIf", exif.tobytes()[6:])
    xmp = b"XML:com.adobe.xmp\0\0\0\0\0" + _XMP.encode()
    yield "png turned by its XMP data behind its pixels", last_chunk(_png(_picture(rng, "LA")), b"iTXt", xmp)
    yield "palette with one transparent colour", _encoded(_picture(rng, "P"), "PNG", transparency=3)
    yield "palette with alphas", _encoded(_picture(rng, "P"), "PNG", transparency=bytes(rng.randbytes(256)))
    yield "gray with one transparent value", _encoded(_picture(rng, "L"), "PNG", transparency=17)
    yield "colours with a transparent one", _encoded(_picture(rng, "RGB"), "PNG", transparency=(1, 2, 3))
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("LAB")).tobytes()
    yield "png with a profile", _encoded(_picture(rng, "RGB"), "PNG", icc_profile=profile)
    yield "jpeg with a profile", _encoded(_picture(rng, "CMYK"), "JPEG", icc_profile=profile)
    frames = [_picture(rng, "RGBA", (64, 48)) for _ in range(3)]
    yield "animated png", _encoded(frames[0], "PNG", save_all=True, append_images=frames[1:])
    yield "animated webp", _encoded(frames[0], "WEBP", save_all=True, append_images=frames[1:], lossless=True)
    yield "all transparent", _png(Image.new("RGBA", (64, 48), (200, 0, 0, 0)))
    yield "one pixel", _png(Image.new("RGB", (1, 1), "red"))
    yield "thin", _png(Image.new("RGB", (300, 1), "red"))
    yield "narrow", _png(Image.new("L", (2, 350)))
    yield "wide", _png(_picture(rng, "RGB", (700, 10)))
    yield "interlaced by resolution", _encoded(_picture(rng, "RGB"), "JPEG", dpi=(300, 72), subsampling=0)
    yield "sixteen bits of colour", _png(Image.merge("RGB", [_picture(rng, "L", (64, 48))] * 3))
    yield (
        "gray with alpha, turned",
        _encoded(
            _picture(rng, "LA"), "PNG", exif=b"Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x05\0\0\0\0\0\0"
        ),
    )
    yield "huge resolution", _encoded(_picture(rng, "P"), "PNG", dpi=(9000, 1), bits=8, optimize=True)


def last_chunk(png: bytes, kind: bytes, content: bytes) -> bytes:
    """`png` with one more chunk before its end, as ImageMagick puts some."""
    *chunks, end = chunks_of(png)
    return written([*chunks, (kind, content), end])


def with_pixels(png: bytes, change: Callable[[bytes], bytes]) -> bytes:
    """`png` with other packed pixels, whose checksum is right."""
    chunks = chunks_of(png)
    changed = change(b"".join(data for kind, data in chunks if kind == b"IDAT"))
    first = [kind for kind, _ in chunks].index(b"IDAT")
    others = [(kind, data) for kind, data in chunks[first:] if kind != b"IDAT"]
    return written([*chunks[:first], (b"IDAT", changed), *others])


def chunks_of(png: bytes) -> list[tuple[bytes, bytes]]:
    """Kind and data of each."""
    found, position = [], len(PNG)
    while position < len(png):
        length, kind = PNG_CHUNK.unpack_from(png, position)
        found.append((kind, png[position + 8 : position + 8 + length]))
        position += length + 12
    return found


def written(chunks: Iterable[tuple[bytes, bytes]]) -> bytes:
    """A PNG of these, whose checksums are right."""
    return PNG + b"".join(
        PNG_CHUNK.pack(len(data), kind) + data + zlib.crc32(kind + data).to_bytes(4, "big") for kind, data in chunks
    )


def _picture(rng: random.Random, mode: str, size: tuple[int, int] | None = None) -> Image.Image:
    """Noise over a slope, so that a turn, a flip or a lost channel shows."""
    width, height = size or rng.choice(_SHAPES)
    noise = np.random.default_rng(rng.randrange(2**32))
    slope = np.linspace(0, 200, width)[None, :, None] * np.linspace(0.2, 1, height)[:, None, None]
    channels = (slope + noise.uniform(0, 55, (height, width, 4))).astype(np.uint8)
    if mode == "I;16":
        return Image.fromarray(channels[..., 0].astype(np.uint16) * 3)
    return Image.fromarray(channels).convert("RGB" if mode in ("P", "CMYK") else "RGBA").convert(mode)


def _png(picture: Image.Image) -> bytes:
    return _encoded(picture, "PNG")


def _encoded(picture: Image.Image, kind: str, **options: object) -> bytes:
    file = io.BytesIO()
    picture.save(file, kind, **options)
    return file.getvalue()
