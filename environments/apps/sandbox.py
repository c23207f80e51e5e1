"""What an application's server is left with: its programs to read, its own folder to write, its own port to listen on.

Needs no privileges and no other program: Landlock of the Linux kernel (from 5.13; ports from 6.7, signals from 6.12)
for files, ports and signals, and a seccomp filter for sockets that Landlock does not know. Where the kernel lacks them
`complaint` says what servers can do. Sources: landlock(7), seccomp(2).
"""

import contextlib
import ctypes
import errno
import os
import platform
import resource
import struct
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from common.processes import die_with_parent

_LIBC = ctypes.CDLL(None, use_errno=True)
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # system calls, the same on every machine
_VERSION, _PATH, _PORT = 1, 1, 2
_READ = 0b1101  # execute, read a file, read a folder
_WRITE = 0b1_1111_1111_0010  # write, remove and make what may lie in a folder
_WRITE_FILE, _READ_FILE, _BIND = 1 << 1, 1 << 2, 1
_SINCE = {2: 1 << 13, 3: 1 << 14, 5: 1 << 15}
"""Further rights on files by the version of Landlock: moving between folders, cutting off, control of devices."""
_SET_SECCOMP, _SET_NO_NEW_PRIVS, _DROP_FROM_BOUNDS = 22, 38, 24
_LIMITS = {resource.RLIMIT_CORE: 0, resource.RLIMIT_FSIZE: 1 << 29, resource.RLIMIT_AS: 4 << 30}

SYSTEM = ("/usr", "/lib", "/lib64", "/bin", *(f"/etc/{name}" for name in ("ld.so.cache", "localtime", "mime.types")))
DEVICES = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom")


def complaint() -> str:
    """What the kernel of this machine cannot keep a server from, or ""."""
    version = _landlock_version()
    if not version:
        return "this kernel has no Landlock: servers of applications can read and write what you can"
    return "" if version >= 4 else "this kernel's Landlock knows no ports: servers of applications can connect anywhere"


class Sandbox:
    """A process that calls `enter`, and what it starts, reads `programs` and the system's, writes below `own`, and
    listens on `port`. It opens no other file, connects nowhere, and signals nobody outside. Use as `with` around the
    fork: `enter` makes system calls alone, so that it may follow one.
    """

    def __init__(self, programs: Sequence[Path], own: Path, port: int):
        self._programs, self._own, self._port = programs, own, port
        self._ruleset = -1
        self._filter = ctypes.create_string_buffer(_socket_filter())
        self._filter_size = (len(self._filter) - 1) // 8
        self._seccomp = struct.pack("HP", self._filter_size, ctypes.addressof(self._filter))

    def __enter__(self) -> "Sandbox":
        if version := _landlock_version():
            self._ruleset = self._rules(version)
        return self

    def __exit__(self, *_: object) -> None:
        if self._ruleset >= 0:
            os.close(self._ruleset)

    def enter(self) -> None:
        """For good, and until its parent dies."""
        die_with_parent()
        for kind, most in _LIMITS.items():
            hard = resource.getrlimit(kind)[1]
            most = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.setrlimit(kind, (most, most))
        if sys.platform != "linux":
            return
        for capability in range(64):  # of a superuser; whoever is none has none to drop
            _LIBC.prctl(_DROP_FROM_BOUNDS, capability, 0, 0, 0)
        _checked(_LIBC.prctl(_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        if self._ruleset >= 0:
            _checked(_LIBC.syscall(_RESTRICT_SELF, self._ruleset, 0))
        if self._filter_size:
            _checked(_LIBC.prctl(_SET_SECCOMP, 2, self._seccomp, 0, 0))

    def _rules(self, version: int) -> int:
        newer = sum(right for since, right in _SINCE.items() if version >= since)
        ports, scopes = 0b11 * (version >= 4), 0b11 * (version >= 6)
        attributes = struct.pack("QQQ", _READ | _WRITE | newer, ports, scopes)
        ruleset = _checked(_LIBC.syscall(_CREATE_RULESET, attributes, len(attributes), 0))
        readable = [Path(sys.base_prefix), *map(Path, SYSTEM), *self._programs]
        for path in filter(Path.exists, readable):
            _allow(ruleset, path, _READ if path.is_dir() else _READ_FILE)
        for path in filter(Path.exists, map(Path, DEVICES)):
            _allow(ruleset, path, _READ_FILE | _WRITE_FILE)
        _allow(ruleset, self._own, _READ | _WRITE | newer)
        if ports:
            _checked(_LIBC.syscall(_ADD_RULE, ruleset, _PORT, struct.pack("QQ", _BIND, self._port), 0))
        return ruleset


def _landlock_version() -> int:
    """0 where there is none."""
    if sys.platform != "linux":
        return 0
    return max(0, _LIBC.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _VERSION))


def _allow(ruleset: int, path: Path, rights: int) -> None:
    with _opened(path) as descriptor:
        _checked(_LIBC.syscall(_ADD_RULE, ruleset, _PATH, struct.pack("=Qi", rights, descriptor), 0))


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[int]:
    descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _checked(result: int) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def _socket_filter() -> bytes:
    """A BPF program: sockets within the machine and for TCP, which Landlock watches; no others, and no `io_uring`,
    which makes sockets without asking. Empty where this machine's numbers are not known."""
    known = {"x86_64": (0xC000003E, 41), "aarch64": (0xC00000B7, 198)}
    if sys.platform != "linux" or platform.machine() not in known:
        return b""
    machine, socket_call = known[platform.machine()]
    load, jump_if, jump_least, mask, give = 0x20, 0x15, 0x35, 0x54, 0x06
    allow, refuse, kill = 0x7FFF0000, 0x00050000 | errno.EACCES, 0x80000000
    program = [
        (load, 0, 0, 4),  # 0: the machine
        (jump_if, 0, 13, machine),
        (load, 0, 0, 0),  # 2: the system call
        (jump_least, 11, 0, 0x40000000),  # 3: in another numbering
        (jump_if, 9, 0, 425),  # 4: io_uring_setup
        (jump_if, 0, 7, socket_call),
        (load, 0, 0, 16),  # 6: its family
        (jump_if, 5, 0, 1),  # unix
        (jump_if, 1, 0, 2),  # 8: IPv4
        (jump_if, 0, 4, 10),  # 9: IPv6
        (load, 0, 0, 24),  # 10: its type
        (mask, 0, 0, 0xF),
        (jump_if, 0, 1, 1),  # 12: a stream
        (give, 0, 0, allow),
        (give, 0, 0, refuse),  # 14
        (give, 0, 0, kill),  # 15
    ]
    return b"".join(struct.pack("HBBI", *one) for one in program)
