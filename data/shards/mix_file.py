"""Mix: one declared file (TOML) that says what a training reads: which data, how often, without which duplicates.

    dedupe = "near"                    # or "exact", "none"
    most_per_site = 2000
    validation_fraction = 0.02

    [[source]]
    path = "runs/IL/shards"            # whatever toolkits/inspect_data.py takes; relative to this file
    where = { step = [1, 2, 3] }       # fields of a sample

    [[source]]
    path = "aguvis/android_control.json"
    image_dir = "aguvis/images"
    action_space = "ui_tars"
    weight = 0.5                       # half of its samples; 2: each twice

toolkits/mix_data.py makes shards of it; training does that by itself where DATASET_PATH is the file. The file's SHA-256
is in every checkpoint that is trained on it.
"""

import dataclasses
import hashlib
import json
import os
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from common.errors import UserError
from common.files import read_json
from common.options.limits import Checked, Limit, above, at_least

SUFFIX = ".toml"
_FORMAT = 2
_IMAGES = (".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp")
_SHARE = Limit("at least 0 and below 1", lambda share: 0 <= share < 1)


class _Declared(Checked):
    """Names stand in the file as they are."""

    spelled: ClassVar[Callable[[str], str]] = "{}".format


@dataclasses.dataclass(frozen=True)
class MixSource(_Declared):
    """One data set of a mix.

    Args:
        path, format, image_dir, action_space: as toolkits/import_data.py has them; `format` may also be `shards`,
            `samples` or `trajectories`.
        prefix: put before its ids; those of other projects' formats get the file's name unless another is given.
        validation: all of it is held out.
        weight: how often an epoch has each of its samples; of 0.5 half of them are drawn.
        most: samples that are kept of it; 0: all.
        sites: kept are samples of these alone; empty: of all.
        actions: kept are samples whose last reply does one of these canonical actions (`ClickAt`, ...); empty: all.
        where: kept are samples whose fields have these values, or one of a list of them.
    """

    path: str
    format: str = "auto"
    image_dir: str = ""
    action_space: str = ""
    prefix: str = ""
    validation: bool = False
    weight: Annotated[float, above(0)] = 1.0
    most: Annotated[int, at_least(0)] = 0
    sites: tuple[str, ...] = ()
    actions: tuple[str, ...] = ()
    where: dict[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Mix(_Declared):
    """All sources, in the order in which duplicates and caps are decided: what comes first stays.

    Args:
        dedupe: `exact` leaves out samples with the text and images of another; `near` also those with the same last
            reply to a newest screenshot that looks alike.
        most_per_site, most_per_task: training samples that are kept of each; 0: all.
        validation_fraction: this part of the tasks is held out, whatever the seed.
    """

    source: tuple[MixSource, ...]
    dedupe: Literal["near", "exact", "none"] = "near"
    most_per_site: Annotated[int, at_least(0)] = 0
    most_per_task: Annotated[int, at_least(0)] = 0
    validation_fraction: Annotated[float, _SHARE] = 0.0
    seed: int = 1234
    max_samples_per_shard: Annotated[int, at_least(1)] = 500
    share_images: bool = False


def read_mix(file: Path) -> Mix:
    """Raises `UserError`, naming the file, for what is no mix."""
    try:
        declared = tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise UserError(f"{file}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:  # no TOML, or no UTF-8
        raise UserError(f"{file}: not TOML ({error})") from None
    sources = declared.get("source")
    if not isinstance(sources, list) or not sources or not all(isinstance(one, dict) for one in sources):
        raise UserError(f"{file}: has no [[source]]")
    made = [_made(MixSource, f"{file}: source {number}", one) for number, one in enumerate(sources, start=1)]
    return _made(Mix, str(file), {**declared, "source": made})


def _made(kind: type[Any], where: str, fields: dict[str, Any]) -> Any:
    known = [field.name for field in dataclasses.fields(kind)]
    if strange := sorted(fields.keys() - set(known)):
        raise UserError(f"{where}: knows no {strange[0]!r}; known are {', '.join(known)}")
    if kind is MixSource and "path" not in fields:
        raise UserError(f"{where}: has no path")
    own: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()}
    try:
        return kind(**own)
    except UserError as error:
        raise UserError(f"{where}: {error}") from None


def mix_digest(file: Path) -> str:
    """As `sha256sum` prints it."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def state_of_mix(file: Path, mix: Mix) -> str:
    """Changes when the file does, or the name, size or time of a file of a source or of an image in its `image_dir`."""
    files = [sorted(_files(file.parent / source.path)) for source in mix.source]
    folders = {source.image_dir for source in mix.source if source.image_dir}
    files += [sorted(one for one in _files(file.parent / folder) if _is_image(one[0])) for folder in sorted(folders)]
    return hashlib.sha256(json.dumps([_FORMAT, mix_digest(file), files]).encode()).hexdigest()[:16]


def shards_of_mix(file: Path) -> Path:
    """Where its shards lie unless another place is asked for, whether they are there or not."""
    return file.parent / ".elcano" / f"{file.stem}-{state_of_mix(file, read_mix(file))}"


def made_of_mix(manifest: Any) -> dict[str, Any] | None:
    """What the manifest of shards says of the mix that they were made of; None where they are of none."""
    source = manifest.get("source") if isinstance(manifest, dict) else None
    found = source.get("mix") if isinstance(source, dict) else None
    return found if isinstance(found, dict) and isinstance(found.get("sha256"), str) else None


def mix_of_shards(shards: Path) -> dict[str, Any] | None:
    """`made_of_mix` of a folder, which need not be there."""
    path = shards / "manifest.json"
    return made_of_mix(read_json(path)) if path.exists() else None


def _files(path: Path) -> list[tuple[str, int, int]]:
    """(name, bytes, time of the last change) of a file, or of all in a folder but hidden ones."""
    if not path.is_dir():
        return [_state(path, path.name)] if path.exists() else []
    found: list[tuple[str, int, int]] = []
    for folder, names, files in os.walk(path):
        names[:] = [name for name in names if name[0] != "."]
        inner = Path(folder)
        found += [_state(inner / name, str((inner / name).relative_to(path))) for name in files if name[0] != "."]
    return found


def _is_image(name: str) -> bool:
    """What else is there, such as shards that were made of it, counts nothing."""
    return Path(name).suffix.lower() in _IMAGES


def _state(path: Path, name: str) -> tuple[str, int, int]:
    stat = path.lstat()
    return name, stat.st_size, stat.st_mtime_ns
