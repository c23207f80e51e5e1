"""Which members of a plain webdataset tar make one sample.

They share the name before the first dot (`a/b` in `./a/b.jpg`, `a/b.0.JPEG`, `a/b.caption.txt`). Where that would give
a sample several `json` or texts, or a text to one of its numbered images alone, keys have dots: a key is then what
stands before the kind of a `json` or text (`a/b.c` of `a/b.c.txt`), and an image is of the longest key that its name
begins with.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from common.errors import UserError
from data.shards.tar import Member

TEXTS = ("txt", "text", "caption")
_TELL = (*TEXTS, "json")
_ASIDE = ".caption"
"""`a.caption.txt` is the text of `a`."""


def grouped(path: Path, members: Iterable[Member], has_dots: bool | None = None) -> dict[str, dict[str, Member]]:
    """Members by key and by what follows it, in lower case. `has_dots`: whether keys have dots; None: as they show.

    Raises:
        UserError: naming the tar; two members have a name, or a key may be of one sample or of two.
    """
    members = list(members)
    groups = _by_key(path, [(member, _place(member)[2]) for member in members])
    if has_dots is False or not any(map(_is_of_several, groups.values())):
        return groups
    told = {_told_key(name) for name in map(_full_name, members) if kind_of(name) in _TELL}
    groups = _by_key(path, [(member, _dotted_key(_full_name(member), told)) for member in members])
    _check_unambiguous(path, groups, told)
    return groups


def kind_of(ending: str) -> str:
    """`jpg` of `0.JPG`."""
    return ending.rpartition(".")[2].lower()


def _place(member: Member) -> tuple[str, str, str]:
    """(folder, name, key before the first dot), of which the last begins with the folder."""
    folder, slash, name = member.name.removeprefix("./").rpartition("/")
    return folder + slash, name, folder + slash + name.partition(".")[0]


def _full_name(member: Member) -> str:
    folder, name, _ = _place(member)
    return folder + name


def _by_key(path: Path, keyed: list[tuple[Member, str]]) -> dict[str, dict[str, Member]]:
    groups: dict[str, dict[str, Member]] = {}
    for member, key in keyed:
        ending = _full_name(member)[len(key) + 1 :].lower()
        if ending in groups.setdefault(key, {}):
            raise UserError(f"{path}: has two members {member.name!r}")
        groups[key][ending] = member
    return groups


def _is_of_several(parts: Mapping[str, Member]) -> bool:
    """Whether it says more than a sample does, or says something of one of its numbered images only."""
    told = [ending for ending in parts if kind_of(ending) in _TELL]
    num_texts = sum(kind_of(ending) in TEXTS for ending in told)
    numbers = {number for ending in parts if ending not in told and (number := _number(ending))}
    numbers_told = set(filter(None, map(_number, told)))
    return num_texts > 1 or len(told) - num_texts > 1 or bool(numbers_told and numbers - numbers_told)


def _number(ending: str) -> str:
    """`5` of `5.jpg`, "" of `jpg`."""
    before = ending.rpartition(".")[0]
    return before if before.isascii() and before.isdigit() else ""


def _told_key(name: str) -> str:
    """What a text is about."""
    return name.rpartition(".")[0].removesuffix(_ASIDE)


def _dotted_key(name: str, told: set[str]) -> str:
    """The longest of `told` that a name begins with, else all of it before the kind."""
    if kind_of(name) in _TELL:
        return _told_key(name)
    return next((key for key in _before_dots(name) if key in told), name.rpartition(".")[0])


def _before_dots(name: str) -> Iterator[str]:
    """`a/b.c` and `a/b` of `a/b.c.jpg`."""
    folder, slash, rest = name.rpartition("/")
    while rest := rest.rpartition(".")[0]:
        yield folder + slash + rest


def _check_unambiguous(path: Path, groups: Mapping[str, Mapping[str, Member]], told: set[str]) -> None:
    """`UserError` where a text without images stands above one that has images."""
    for key in told:
        above = next((one for one in _before_dots(key) if one in told and not _images(groups[one])), None)
        if above is not None and (images := _images(groups[key])):
            raise UserError(
                f"{path}: sample {above!r}: is {images[0].name!r} of it, or of a sample {key!r}? Both have a text or "
                "json; give each sample a key without dots"
            )


def _images(parts: Mapping[str, Member]) -> list[Member]:
    return [member for ending, member in parts.items() if kind_of(ending) not in _TELL]
