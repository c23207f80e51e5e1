"""adb's packets: a header of 24 bytes and a payload (AOSP, packages/modules/adb/protocol.txt)."""

import asyncio
import struct
from dataclasses import dataclass

_HEADER = struct.Struct("<6I")
MAX_PAYLOAD = 256 * 1024
VERSION = 0x01000001
"""From this version on nobody sums up payloads."""


def _number(name: str) -> int:
    return int.from_bytes(name.encode(), "little")


CNXN, AUTH, OPEN, OKAY, WRTE, CLSE = map(_number, ("CNXN", "AUTH", "OPEN", "OKAY", "WRTE", "CLSE"))
TOKEN, SIGNATURE, PUBLIC_KEY = 1, 2, 3
"""Kinds of AUTH."""


class PacketError(Exception):
    """What came is no packet of adb."""


@dataclass(frozen=True)
class Packet:
    """`first` and `second` mean what the command makes of them: mostly the sender's stream, and the receiver's."""

    command: int
    first: int
    second: int
    payload: bytes = b""

    def encode(self, with_sum: bool) -> bytes:
        total = sum(self.payload) & 0xFFFFFFFF if with_sum else 0
        header = (self.command, self.first, self.second, len(self.payload), total, self.command ^ 0xFFFFFFFF)
        return _HEADER.pack(*header) + self.payload


async def read_packet(reader: asyncio.StreamReader) -> Packet:
    """The next one.

    Raises:
        PacketError: another protocol, or more than anybody may send.
        asyncio.IncompleteReadError: the connection ended.
    """
    command, first, second, length, _, magic = _HEADER.unpack(await reader.readexactly(_HEADER.size))
    if magic != command ^ 0xFFFFFFFF or length > MAX_PAYLOAD:
        raise PacketError("no packet of adb")
    return Packet(command, first, second, await reader.readexactly(length) if length else b"")
