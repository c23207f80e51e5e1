"""Structs in Thrift's compact protocol, read field by field: nothing is built but the numbers that are asked for.

https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
"""

from collections.abc import Collection, Iterator
from typing import Any

TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(1, 13)
INTEGERS = frozenset({I16, I32, I64})
_DEEPEST = 16


class Compact:
    """A cursor. Every method raises ValueError where the bytes are no such struct, or end."""

    def __init__(self, content: bytes) -> None:
        self._content, self.position = content, 0

    def fields(self) -> Iterator[tuple[int, int]]:
        """(number, type) of each field of a struct; whoever asks reads or skips the value before the next."""
        field = 0
        while first := self._byte():
            field = field + (first >> 4) if first >> 4 else self.number()
            yield field, first & 15

    def numbers(self, structs: Collection[int] = ()) -> dict[int, Any]:
        """The integers of a struct by field, and so those of the structs inside whose fields are given."""
        found: dict[int, Any] = {}
        for field, kind in self.fields():
            if kind in INTEGERS and field not in structs:
                found[field] = self.number()
            elif kind == STRUCT and field in structs:
                found[field] = self.numbers()
            else:
                self.skip(kind)
        return found

    def number(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)

    def text(self) -> str:
        start = self.position + self._skip_varint()
        return self._content[start : self.position].decode()

    def list_of(self, kind: int) -> int:
        """The number of members of a list, each of which is to be read."""
        size, found = self._list()
        if size and found != kind:
            raise ValueError(f"a list of {found}, not of {kind}")
        return size

    def skip(self, kind: int, depth: int = 0) -> None:
        if kind in (TRUE, FALSE):
            return
        if kind in INTEGERS:
            self._varint()
        elif kind == BINARY:
            self._skip_varint()
        elif kind in (BYTE, DOUBLE):
            self._move(1 if kind == BYTE else 8)
        elif depth > _DEEPEST:
            raise ValueError("nested too deeply")
        elif kind == STRUCT:
            for _, inner in self.fields():
                self.skip(inner, depth + 1)
        elif kind in (LIST, SET):
            size, inner = self._list()
            for _ in range(size):
                self._skip_member(inner, depth + 1)
        else:
            raise ValueError(f"a value of type {kind}")

    def _skip_member(self, kind: int, depth: int) -> None:
        """Truth takes a byte in a list, and none in a struct."""
        self.skip(BYTE if kind in (TRUE, FALSE) else kind, depth)

    def _list(self) -> tuple[int, int]:
        first = self._byte()
        return (self._varint() if first >> 4 == 15 else first >> 4), first & 15

    def _skip_varint(self) -> int:
        """Past bytes that say how many they are; returns how many bytes said so."""
        before = self.position
        size = self._varint()
        length = self.position - before
        self._move(size)
        return length

    def _move(self, count: int) -> None:
        self.position += count
        if self.position > len(self._content):
            raise ValueError("it is cut")

    def _byte(self) -> int:
        if self.position >= len(self._content):
            raise ValueError("it is cut")
        self.position += 1
        return self._content[self.position - 1]

    def _varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7
            if shift > 63:
                raise ValueError("a number without an end")
