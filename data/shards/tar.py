"""Tar: the part of the format that shards need; written without time and owner, scanned without reading contents."""

import functools
import os
import re
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import xxhash

from common.errors import UserError

_ENDINGS = ("tar", "tgz", "tar.gz", "tar.bz2", "tar.zst")
_BLOCK = tarfile.BLOCKSIZE
_END = bytes(_BLOCK)
_MAX_HEADER_BYTES = 2**20  # of a long name or a PAX header, which are read into memory
_NUMBER = re.compile(rb"[ \0]*([0-7]*)[ \0]*")


class Member(NamedTuple):
    """A file in a tar: its headers begin at `start`, its `size` bytes at `offset`; the next member begins at `end`."""

    name: str
    start: int
    offset: int
    size: int

    @property
    def end(self) -> int:
        return self.offset + _padded(self.size)


def _padded(size: int) -> int:
    return -(-size // _BLOCK) * _BLOCK


class TarWriter:
    """Appends files to a new tar; `members` are those so far."""

    def __init__(self, path: Path):
        self._file = open(path, "w+b")  # noqa: SIM115 - closed by `close`
        self._hash = xxhash.xxh128()
        self._padding = b""  # of the last member, written with what follows
        self.members: list[Member] = []
        self.num_bytes = 0

    def add(self, name: str, content: bytes) -> Member:
        header = _make_header(name, len(content))
        start = self.num_bytes + len(self._padding)
        self._write(self._padding + header)
        self._write(content)
        member = Member(name, start, self.num_bytes - len(content), len(content))
        self._padding = bytes(member.end - self.num_bytes)
        self.members.append(member)
        return member

    def read(self, member: Member) -> bytes:
        """What `add` wrote."""
        self._file.flush()
        return os.pread(self._file.fileno(), member.size, member.offset)

    def close(self) -> str:
        """Write the end marks; returns the tar's XXH128."""
        with self._file:
            self._write(self._padding + 2 * _END)
            self._write(bytes(-self.num_bytes % tarfile.RECORDSIZE))
        return self._hash.hexdigest()

    def _write(self, content: bytes) -> None:
        self._file.write(content)
        self._hash.update(content)
        self.num_bytes += len(content)


def _make_header(name: str, size: int) -> bytes:
    """tarfile is slow, so it makes one header without name and size, which are filled in here."""
    if not name.isascii() or len(name) > 100 or size >= 8**11:
        return _tarfile_header(name, size)
    template = _template()
    header = b"%b%b%011o\0%b" % (name.encode().ljust(100, b"\0"), template[100:124], size, template[136:])
    return b"%b%06o\0%b" % (header[:148], _checksum(header), header[155:])


@functools.cache
def _template() -> bytes:
    return _tarfile_header("", 0)


def _tarfile_header(name: str, size: int) -> bytes:
    info = tarfile.TarInfo(name)
    info.size, info.mode, info.mtime = size, 0o444, 0
    info.uname = info.gname = "elcano"
    return info.tobuf(tarfile.PAX_FORMAT, "utf-8", "surrogateescape")


def _checksum(header: bytes) -> int:
    """Of a member's header, its own field read as spaces."""
    return sum(header) - sum(header[148:156]) + 8 * ord(" ")


def list_tars(folder: Path) -> list[Path]:
    """Those in `folder` and below, packed ones too, in order; what is hidden is not its owner's data."""
    found = (file for ending in _ENDINGS for file in folder.rglob(f"*.{ending}"))
    return sorted(file for file in found if not any(part[0] == "." for part in file.relative_to(folder).parts))


def scan(path: str | Path) -> list[Member]:
    """The regular files of a tar, in order.

    Raises:
        UserError: no tar, cut off, damaged headers, or a member that is neither a file nor a folder.
    """
    try:
        with open(path, "rb") as file:
            return list(_scan(file.fileno(), os.fstat(file.fileno()).st_size))
    except FileNotFoundError:
        raise UserError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise UserError(f"{path}: a folder, not a tar") from None
    except UserError as error:
        raise UserError(f"{path}: {error}") from None


def _scan(file: int, num_bytes: int) -> Iterator[Member]:
    start = position = 0
    long_name = None
    while True:
        header = _read(file, position, _BLOCK, num_bytes)
        if header == _END:
            return
        _check_header(header, position)
        size, kind = _octal(header[124:136], position), header[156:157]
        position += _BLOCK
        if position + size > num_bytes:
            raise UserError(f"cut off in the member at byte {start}")
        if kind in (tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME) and size > _MAX_HEADER_BYTES:
            raise UserError(f"the header at byte {start} has {size} bytes, which no name takes")
        if kind == tarfile.XHDTYPE:
            long_name = _pax_path(_read(file, position, size, num_bytes)) or long_name
        elif kind == tarfile.GNUTYPE_LONGNAME:
            long_name = _text(_read(file, position, size, num_bytes))
        elif kind in (tarfile.REGTYPE, tarfile.AREGTYPE):
            yield Member(long_name or _name(header), start, position, size)
        elif kind not in (tarfile.DIRTYPE, tarfile.XGLTYPE):
            raise UserError(f"the member at byte {start} is a link or device, not a file")
        position += _padded(size)
        if kind not in (tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME):
            start, long_name = position, None


def _read(file: int, position: int, size: int, num_bytes: int) -> bytes:
    if position + size > num_bytes:
        raise UserError("not a tar, or cut off: it ends without an end mark")
    return os.pread(file, size, position)


def _check_header(header: bytes, position: int) -> None:
    if _octal(header[148:156], position) != _checksum(header):
        raise UserError(f"not a tar, or damaged at byte {position}")


def _octal(field: bytes, position: int) -> int:
    number = _NUMBER.fullmatch(field)  # int() would also take -8, which leads back to where one was
    if number is None:
        raise UserError(f"not a tar, or damaged at byte {position}")
    return int(number[1] or b"0", 8)


def _text(field: bytes) -> str:
    return field.split(b"\0", 1)[0].decode("utf-8", "surrogateescape")


def _name(header: bytes) -> str:
    prefix = _text(header[345:500]) if header[257:263] == b"ustar\0" else ""
    return f"{prefix}/{_text(header[:100])}" if prefix else _text(header[:100])


def _pax_path(records: bytes) -> str | None:
    """The `path` of a PAX header, whose records read `<length> <key>=<value>` and a newline."""
    while records:
        length, _, rest = records.partition(b" ")
        if not length.isdigit() or len(length) > 9 or not len(length) < int(length) <= len(records):
            raise UserError("a damaged PAX header")
        key, _, value = rest[: int(length) - len(length) - 2].partition(b"=")
        if key == b"path":
            return value.decode("utf-8", "surrogateescape")
        records = records[int(length) :]
    return None
