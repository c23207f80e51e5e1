"""An emulator's console, which listens on its own machine alone: it puts a running device back to a snapshot."""

import asyncio
from pathlib import Path

from environments.faults import DeviceError

TOKEN = Path.home() / ".emulator_console_auth_token"
TIMEOUT_S = 60.0


async def load_snapshot(port: int, name: str, token_file: Path | None = None) -> None:
    """The device is what it was when the snapshot was taken. `token_file` None: where emulators leave it.

    Raises:
        DeviceError: there is no console at this port, or it refuses.
    """
    try:
        async with asyncio.timeout(TIMEOUT_S):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            try:
                if "Authentication required" in await _answer(reader):
                    token = await asyncio.to_thread((token_file or TOKEN).read_text)
                    await _say(reader, writer, f"auth {token.strip()}")
                await _say(reader, writer, f"avd snapshot load {name}")
            finally:
                writer.close()
    except (OSError, EOFError, TimeoutError) as error:
        raise DeviceError(f"the console of emulator-{port}: {str(error) or 'no answer'}") from None


async def _say(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, line: str) -> None:
    writer.write(f"{line}\n".encode())
    await _answer(reader)


async def _answer(reader: asyncio.StreamReader) -> str:
    """All lines up to the one that says OK."""
    lines = []
    while True:
        line = (await reader.readuntil(b"\n")).decode(errors="replace").strip()
        if line.startswith("KO"):
            raise DeviceError(f"the emulator's console refused: {line}")
        if line == "OK":
            return "\n".join(lines)
        lines.append(line)
