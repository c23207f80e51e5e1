"""What a conversion cannot hold: counted by kind, and told in one line."""

import collections
import sys
from collections.abc import Collection, Mapping
from typing import Any

from common.errors import UserError
from common.shown.terminal import printable

_MOST_KINDS = 100
"""A file of others may call its fields anything."""


class LeftOut(collections.Counter[str]):
    """`left_out["images at an address"] += 1`; whoever made it calls `tell` once all was converted. `addresses` are
    those of images that are not here (addresses.py). `taken` counts what was taken for something that nothing names;
    `num_read` records were read, of which `num_kept` became samples and `num_bare` show no image; `columns` of these
    name files. `missing` says where the first image stands that is not there, `reason` why the first of what was left
    out as a whole was."""

    def __init__(self, *counted: Mapping[str, int]) -> None:
        super().__init__(*counted)
        self.addresses: set[str] = set()
        self.taken = collections.Counter[str]()
        self.num_read = self.num_kept = self.num_bare = 0
        self.columns: set[str] = set()
        self.missing = ""
        self.reason: UserError | None = None

    def __str__(self) -> str:
        return _in_words(self)

    def __reduce__(self) -> tuple[Any, ...]:
        """With all of it: a Counter sends its counts alone from process to process."""
        return type(self), (dict(self),), self.__dict__

    def add(self, other: "LeftOut") -> None:
        """What another one counted, too."""
        self.update(other)
        self.addresses |= other.addresses
        self.taken.update(other.taken)
        self.num_read, self.num_bare = self.num_read + other.num_read, self.num_bare + other.num_bare
        self.num_kept += other.num_kept
        self.columns |= other.columns
        self.missing = self.missing or other.missing
        self.reason = self.reason or other.reason

    def leave_out(self, kind: str, error: UserError, is_missing: bool = True) -> None:
        """Something as a whole, because of `error`: an image that is not there, or else."""
        self[kind] += 1
        self.missing = self.missing or (str(error) if is_missing else "")
        self.reason = self.reason or error

    def count_unread(self, of: str, fields: Mapping[str, Any], read: Collection[str]) -> None:
        """Fields that say something and that nothing here reads."""
        for name, value in fields.items():
            if name not in read and value not in (None, "", [], {}):
                kind = f"{name:.40} of {of}"
                self[kind if kind in self or len(self) < _MOST_KINDS else f"other fields of {of}"] += 1

    def give_reason(self, num_read: int) -> None:
        """`reason`, where nothing else was read: then it is what the user has to know."""
        if not num_read and self.reason:
            raise self.reason

    def tell(self, where: object) -> None:
        """A line each on the standard error output for what there is."""
        lines = [f"left out: {self}"] if str(self) else []
        lines += [f"taken in: {self.words_of_taken()}"] if self.taken else []
        if self.columns:
            named = ", ".join(sorted(self.columns))
            lines.append(
                f"no image in {self.num_bare} of {self.num_read} records; fields that name files there: {named}; call "
                "the one that is meant image"
            )
        lines += [f"the first that is not there: {self.missing}"] if self.missing else []
        for line in lines:
            print(printable(f"{where}: {line}"), file=sys.stderr)

    def words_of_taken(self) -> str:
        """As `str` has what was left out."""
        return _in_words(self.taken)


def _in_words(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{kind} ({count})" for kind, count in sorted(counts.items()) if count)
