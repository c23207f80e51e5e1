"""A command line of a device's shell, as far as clients of adb use it: quotes, `;`, `&&`, `||`, `|`, `>`, `2>&1`, `$?`.

What a line says runs in this process, by `commands.py`. Nothing of this machine is within its reach.
"""

import dataclasses
import re
import shlex
from collections.abc import Awaitable, Callable, Mapping, Sequence

from environments.browser.chromium.cdp import RefusedError
from environments.faults import BrowserError, DeviceError, PageError

Write = Callable[[bytes], Awaitable[None]]
FAULTS = (BrowserError, DeviceError, PageError, RefusedError)
"""Of a screen. Chromium refuses everything of a page that was closed."""
_TOKEN = re.compile(
    r"""(?P<sign>\n|[;&|<>]+)|(?P<word>(?:\\.|'[^']*'|"(?:\\.|[^"\\])*"|[^ \t\r\n;&|<>'"\\])+)|[ \t\r]+|(?P<open>.)""",
    re.DOTALL,
)
_SIGNS = set(";&|<>\n")
_JOINS = (";", "&&", "||", "|", "\n")
_REDIRECTS = (">", ">>", ">&")


@dataclasses.dataclass(frozen=True)
class Streams:
    """Of a command. `read` gives what comes next, empty at the end. `files`: names of others, by number."""

    read: Callable[[], Awaitable[bytes]]
    out: Write
    err: Write
    files: Mapping[str, str] = dataclasses.field(default_factory=dict)


class CommandError(Exception):
    """What a command says on its standard error when it fails."""

    def __init__(self, message: str, code: int = 1):
        super().__init__(message)
        self.code = code


Run = Callable[[Sequence[str], Streams], Awaitable[int]]
"""Runs a command by its words; gives its exit code, or raises CommandError."""
Keep = Callable[[str, bytes], None]
"""Keeps what a command wrote into a file of this name."""


@dataclasses.dataclass
class _Command:
    join: str
    """What stands before it."""
    words: list[str] = dataclasses.field(default_factory=list)
    """With their quotes."""
    redirects: list[tuple[int, str]] = dataclasses.field(default_factory=list)
    """(number of the stream, where it goes: a file, or `&` and the number of a stream)."""


async def run_line(line: str, run: Run, keep: Keep, streams: Streams) -> int:
    """Everything that a command line says; gives the exit code of the last command.

    As in Android's shell, mksh, a command sees what it is given itself, and nothing that `exec` opened.
    """
    code, piped = 0, b""
    opened: dict[str, str] = {}
    try:
        commands = _parse(line)
    except ValueError as error:
        await streams.err(f"/system/bin/sh: {error}\n".encode())
        return 2
    for index, command in enumerate(commands):
        if (command.join == "&&" and code) or (command.join == "||" and not code):
            continue
        words = [_expanded(word, code) for word in command.words]
        follows = commands[index + 1].join == "|" if index + 1 < len(commands) else False
        given = piped if command.join == "|" else None
        if words[0] == "exit":
            return int(words[1]) & 255 if len(words) > 1 and words[1].isdigit() else code
        redirects = [redirect for redirect in command.redirects if redirect[0] <= 2]
        files = {
            str(number): opened.get(target[1:], "") if target.startswith("&") else target
            for number, target in command.redirects
            if number > 2
        }
        if words[0] == "exec":
            opened |= files
        to = dataclasses.replace(streams, files=files)
        code, piped = await _run_one(words, redirects, given, follows, run, keep, to)
    return code


async def _run_one(
    words: list[str],
    redirects: Sequence[tuple[int, str]],
    given: bytes | None,
    follows: bool,
    run: Run,
    keep: Keep,
    streams: Streams,
) -> tuple[int, bytes]:
    """(exit code, what goes on through a pipe)."""
    caught: dict[str, bytearray] = {}
    outs: dict[int, Write] = {1: _catch(caught, "|") if follows else streams.out, 2: streams.err}
    for number, target in redirects:
        outs[number] = outs[int(target[1:])] if target in ("&1", "&2") else _catch(caught, target)
    left = [given or b""]

    async def read() -> bytes:
        return left.pop() if left else b""

    try:
        code = await run(words, Streams(streams.read if given is None else read, outs[1], outs[2], streams.files))
    except CommandError as error:
        await outs[2](f"{error}\n".encode())
        code = error.code
    except FAULTS as error:
        await outs[2](f"{words[0]}: {error}\n".encode())
        code = 1
    for target, data in caught.items():
        if target not in ("|", "/dev/null"):
            keep(target, bytes(data))
    return code, bytes(caught.get("|", b""))


def _catch(caught: dict[str, bytearray], target: str) -> Write:
    data = caught.setdefault(target, bytearray())

    async def write(more: bytes) -> None:
        data.extend(more)

    return write


def _parse(line: str) -> list[_Command]:
    tokens: list[str] = []
    for found in _TOKEN.finditer(line.strip()):
        if found["open"]:
            raise ValueError("no closing quote")
        if token := found["sign"] or found["word"]:
            tokens.append(token)
    commands = [_Command(";")]
    index = 0
    while index < len(tokens):
        token = tokens[index]
        if token in _REDIRECTS and index + 1 < len(tokens) and not set(tokens[index + 1]) <= _SIGNS:
            words = commands[-1].words
            number = int(words.pop()) if words and words[-1] in ("1", "2", "8", "9") else 1
            target = _expanded(tokens[index + 1])
            commands[-1].redirects.append((number, f"&{target}" if token == ">&" else target))
            index += 1
        elif token in _JOINS:
            if not commands[-1].words and token != "\n":
                raise ValueError(f"syntax error: unexpected {token!r}")
            commands.append(_Command(";" if token == "\n" else token))
        elif set(token) <= _SIGNS:
            raise ValueError(f"syntax error: {token!r} is not known here")
        else:
            commands[-1].words.append(token)
        index += 1
    return [command for command in commands if command.words]


def _expanded(word: str, code: int = 0) -> str:
    """Without its quotes, and outside of single ones with the exit code `code` for `$?`."""
    said = re.sub(r"'[^']*'|\$\?", lambda found: str(code) if found[0] == "$?" else found[0], word)
    return shlex.split(said)[0]
