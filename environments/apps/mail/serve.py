"""Serves mail; run by the Python that aiosmtpd is in: serve.py STATE IMAP SMTP DOVECOT -- WEB

DOVECOT and WEB are commands. Dovecot answers at the file IMAP, one process for each connection, and what is sent to the
file SMTP is filed in STATE/outbox. Nobody connects from outside: the sandbox opens no port for either.
"""

import asyncio
import ctypes
import os
import signal
import sys
from asyncio import StreamReader, StreamWriter
from pathlib import Path

from aiosmtpd.handlers import AsyncMessage
from aiosmtpd.smtp import SMTP

state, imap, smtp, *commands = sys.argv[1:]
dovecot, web = commands[: commands.index("--")], commands[commands.index("--") + 1 :]
GREETING = b"* OK [CAPABILITY IMAP4rev1] Dovecot ready.\r\n"
PIECE = 1 << 16


def die_with_parent() -> None:
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


class Outbox(AsyncMessage):
    """Files mails by the order in which they were sent."""

    async def handle_message(self, message):
        folder = Path(state) / "outbox"
        number = len(list(folder.iterdir())) + 1
        (folder / f"{number:04}.eml").write_bytes(message.as_bytes())


async def read_login(reader: StreamReader, writer: StreamWriter) -> str:
    """The tag of the command that logs in, whoever it is."""
    writer.write(GREETING)
    while line := await reader.readline():
        tag, _, command = line.decode().strip().partition(" ")
        if command.upper().startswith("LOGIN "):
            return tag
        writer.write(b"* CAPABILITY IMAP4rev1\r\n" * (command.upper() == "CAPABILITY") + f"{tag} OK\r\n".encode())
    return ""


async def serve_imap(reader: StreamReader, writer: StreamWriter) -> None:
    """From the login on it is Dovecot's own program that speaks; it takes pipes only."""
    try:
        if tag := await read_login(reader, writer):
            pipe, where = asyncio.subprocess.PIPE, {"IMAPLOGINTAG": tag, **os.environ}
            process = await asyncio.create_subprocess_exec(
                *dovecot, stdin=pipe, stdout=pipe, env=where, preexec_fn=die_with_parent
            )
            await asyncio.gather(copy(reader, process.stdin), copy(process.stdout, writer))
            await process.wait()
    finally:
        writer.close()


async def copy(source: StreamReader, target: StreamWriter) -> None:
    """To its end, which ends the target too."""
    try:
        while piece := await source.read(PIECE):
            target.write(piece)
            await target.drain()
    except ConnectionError:
        pass  # whoever listened has gone
    finally:
        target.close()


async def main() -> int:
    for path in (imap, smtp):
        Path(path).unlink(missing_ok=True)
    await asyncio.start_unix_server(serve_imap, imap)
    await asyncio.get_running_loop().create_unix_server(lambda: SMTP(Outbox(), enable_SMTPUTF8=True), smtp)
    process = await asyncio.create_subprocess_exec(*web, preexec_fn=die_with_parent)
    return await process.wait()


sys.exit(asyncio.run(main()))
