"""Serves mail; run by the Python that aiosmtpd is in: serve.py STATE IMAP SMTP DOVECOT -- WEB

DOVECOT and WEB are commands. Dovecot answers at the file IMAP, one process for each connection, and what is sent
to the file SMTP is filed in STATE/outbox. Nobody connects from outside: the sandbox opens no port for either.
"""

import asyncio
import ctypes
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

from aiosmtpd.handlers import AsyncMessage
from aiosmtpd.smtp import SMTP

state, imap, smtp, *commands = sys.argv[1:]
dovecot, web = commands[: commands.index("--")], commands[commands.index("--") + 1 :]
GREETING = b"* OK [CAPABILITY IMAP4rev1] Dovecot ready.\r\n"


def die_with_parent() -> None:
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


class Outbox(AsyncMessage):
    """Files mails by the order in which they were sent."""

    async def handle_message(self, message):
        folder = Path(state) / "outbox"
        number = len(list(folder.iterdir())) + 1
        (folder / f"{number:04}.eml").write_bytes(message.as_bytes())


async def read_login(connection: socket.socket) -> str:
    """The tag of the command that asks for a login, whoever it is."""
    loop = asyncio.get_running_loop()
    await loop.sock_sendall(connection, GREETING)
    line = b""
    while not line.endswith(b"\r\n"):
        piece = await loop.sock_recv(connection, 1)
        if not piece:
            return ""
        line += piece
    tag, _, command = line.decode().partition(" ")
    return tag if command.upper().startswith("LOGIN ") else ""


async def serve_imap(connection: socket.socket) -> None:
    """Logged in, Dovecot's own program takes the connection over."""
    with connection:
        tag = await read_login(connection)
        if not tag:
            return
        connection.setblocking(True)
        where = {"IMAPLOGINTAG": tag, **os.environ}
        process = subprocess.Popen(dovecot, stdin=connection, stdout=connection, env=where, preexec_fn=die_with_parent)
    await asyncio.to_thread(process.wait)


async def accept(listener: socket.socket) -> None:
    tasks = set()
    while True:
        connection, _ = await asyncio.get_running_loop().sock_accept(listener)
        task = asyncio.create_task(serve_imap(connection))
        tasks.add(task)
        task.add_done_callback(tasks.discard)


async def main() -> int:
    for path in (imap, smtp):
        Path(path).unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(imap)
    listener.listen(64)
    listener.setblocking(False)
    accepting = asyncio.create_task(accept(listener))
    await asyncio.get_running_loop().create_unix_server(lambda: SMTP(Outbox(), enable_SMTPUTF8=True), smtp)
    process = subprocess.Popen(web, preexec_fn=die_with_parent)
    code = await asyncio.to_thread(process.wait)
    accepting.cancel()
    return code


sys.exit(asyncio.run(main()))
