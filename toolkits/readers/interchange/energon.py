"""Datasets of Megatron-Energon (a folder of tars with `.nv-meta/`), as samples whose images become files.

Layout: NVIDIA/Megatron-Energon, `src/megatron/energon/flavors/` and its pages "Data on disk" and "Sample flavors". The
training split of `split.yaml` is read, without its index. A crude dataset is read as plain tars are
(webdataset_tar.py); of the others those of images and words, by their `field_map`. A `sample_loader`
is code, and not run.

| sample type        | fields                        | user, agent                     |
|--------------------|-------------------------------|---------------------------------|
| `CaptioningSample` | image, caption                | the image, the caption          |
| `VQASample`        | image, context, answers       | image and context, first answer |
| `OCRSample`        | image, text                   | the image, the text             |
"""

import itertools
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

from common.errors import UserError
from common.files import parse_json
from data.conversation import IMAGE
from data.shards.tar import Member
from toolkits.readers.interchange.webdataset_tar import Fields, NoTextError, Tar, images_of, read_tars, text_of_member
from toolkits.readers.reading.braces import expanded
from toolkits.readers.reading.left_out import LeftOut

_META = ".nv-meta"
_CRUDE = "CrudeWebdataset"
_WORDS = {"Captioning": (None, "caption"), "VQA": ("context", "answers"), "OCR": (None, "text")}
"""By sample type the fields of what the user and the agent say."""
_FIELD = re.compile(r"([^\[\]]+)((?:\[[^\[\]]+\])*)")


def read_energon(path: Path, image_dir: Path, round_id: int, num_workers: int = 1) -> Iterator[dict[str, Any]]:
    """One sample each, tar by tar; those without an `id` are called `<tar>--<key>`.

    Raises:
        UserError: naming the file and the sample.
    """
    left_out = LeftOut()
    yield from samples_of_dataset(path, image_dir, left_out, num_workers)
    left_out.tell(path)


def samples_of_dataset(
    path: Path, image_dir: Path, left_out: LeftOut, num_workers: int = 1
) -> Iterator[dict[str, Any]]:
    """As `read_energon`, which tells what `left_out` counts."""
    meta = path / _META
    described = _read_yaml(meta / "dataset.yaml")
    split_file = meta / "split.yaml"
    if not split_file.is_file() and (meta / "split.json").is_file():
        split_file = meta / "split.json"  # JSON is YAML
    split = _read_yaml(split_file)
    parts = split.get("split_parts")
    if not isinstance(parts, dict) or not isinstance(parts.get("train"), list):
        raise UserError(f"{split_file}: lists no split_parts for train")
    excluded = set(_expanded(meta, split.get("exclude") or []))
    left_out["excluded tars or samples"] += len(excluded)
    left_out["tars of other splits than train"] += sum(
        len(list(_expanded(meta, names))) for part, names in parts.items() if part != "train" and names
    )
    names = [name for name in _expanded(meta, parts["train"]) if name not in excluded]
    tars = [_tar(path, name, excluded, prefix) for name, prefix in zip(names, _prefixes(names), strict=True)]
    yield from read_tars(tars, image_dir, left_out, _fields_of(meta, described), num_workers)


def _tar(folder: Path, name: str, excluded: Collection[str], prefix: str) -> Tar:
    """energon excludes single samples as `<tar>/<key>`, the tar as the split names it."""
    keys = {one.removeprefix(f"{name}/") for one in excluded if one.startswith(f"{name}/")}
    return Tar(folder / name, prefix, keys)


def _prefixes(names: Sequence[str]) -> list[str]:
    """Of the ids of a tar's samples; with its folders where several are called the same."""
    paths = [PurePosixPath(name) for name in names]
    stems = [path.stem for path in paths]
    if len({*stems}) < len(stems):
        stems = ["_".join([*path.parts[:-1], path.stem]) for path in paths]
    return [f"{stem}--" for stem in stems]


def _read_yaml(path: Path) -> dict[str, Any]:
    try:
        import yaml  # imported here: nothing else of the toolkits needs it
    except ModuleNotFoundError:
        raise UserError("energon's files are YAML: pip install pyyaml") from None
    try:
        found = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}; {path.parent.parent} is no dataset of energon's") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise UserError(f"{path}: not valid YAML ({' '.join(str(error).split())[:120]})") from None
    if not isinstance(found, dict):
        raise UserError(f"{path}: not a mapping")
    return found


def _expanded(meta: Path, names: Sequence[Any]) -> Iterator[str]:
    """`shard_{000..002}.tar` is three."""
    where = str(meta / "split.yaml")
    if wrong := [name for name in names if not isinstance(name, str)]:
        raise UserError(f"{where}: {wrong[0]!r:.60} is not a tar in the folder")
    for name in expanded(where, names):
        if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
            raise UserError(f"{where}: {name!r:.60} is not a tar in the folder")
        yield name


def _fields_of(meta: Path, described: Mapping[str, Any]) -> Fields | None:
    """None for a crude dataset."""
    kind = described.get("__class__")
    sample = described.get("sample_type")
    sample = sample.get("__class__") if isinstance(sample, dict) else kind
    if "sample_loader" in described:
        raise UserError(f"{meta / 'dataset.yaml'}: its sample_loader is code, which is not run; give it a field_map")
    if kind == _CRUDE:
        return None
    name = next((name for name in _WORDS if str(sample) in (f"{name}Sample", f"{name}Webdataset")), None)
    field_map = described.get("field_map")
    if name is None or not isinstance(field_map, dict):
        raise UserError(
            f"{meta / 'dataset.yaml'}: {sample!s:.60} is not read; {', '.join(_WORDS)} with a field_map and "
            "CrudeWebdataset are"
        )
    asked, told = _WORDS[name]

    def fields(where: str, parts: dict[str, Member], file: BinaryIO) -> dict[str, Any] | None:
        images = [found] if isinstance(found := _value(where, field_map.get("image"), parts, file), Member) else []
        question = _said(where, field_map.get(asked), parts, file) if asked else ""
        answer = _said(where, field_map.get(told), parts, file)
        if not images or images[0] not in images_of(parts):
            raise NoTextError(f"{where}: has no image where field_map says it is")
        if not answer.strip():
            return None
        marks = "" if IMAGE in question else IMAGE + ("\n" if question else "")
        return {"images": images, "query": marks + question, "response": answer}

    return fields


def _said(where: str, place: Any, parts: dict[str, Member], file: BinaryIO) -> str:
    value = _value(where, place, parts, file)
    value = text_of_member(where, file, value) if isinstance(value, Member) else value
    value = value[0] if isinstance(value, list) and value else value
    if not isinstance(value, str):
        raise NoTextError(f"{where}: has no text at {place!r:.60}, where field_map says it is")
    return value


def _value(where: str, place: Any, parts: dict[str, Member], file: BinaryIO) -> Any:
    """A member (`jpg`, or several kinds to choose from), or a place in one (`json[0][value]`)."""
    for one in str(place).split(";"):
        found = _FIELD.fullmatch(one.strip())
        if found and (member := parts.get(found[1].lower())) is not None:
            if not found[2]:
                return member
            return _inside(where, text_of_member(where, file, member), re.findall(r"\[([^\[\]]+)\]", found[2]))
    return None


def _inside(where: str, text: str, keys: Sequence[str]) -> Any:
    try:
        value = parse_json(text)
        for key in itertools.islice(keys, 32):
            value = value[int(key)] if isinstance(value, list) else value[key]
        return value
    except (ValueError, KeyError, IndexError, TypeError):
        raise NoTextError(f"{where}: has nothing at json[{']['.join(keys)}], where field_map says it is") from None
