"""The user's own command that puts websites back (`--reset_command`): one way to run it, wherever it is needed."""

import asyncio
import contextlib
import os
import signal

from common.errors import UserError

TIMEOUT_S = 1800.0  # restarting WebArena's containers takes minutes


async def run_reset_command(command: str, backend: str = "") -> None:
    """Have the shell run it, with the name of one backend, or "" for all of them, in BACKEND.

    Raises:
        UserError: it failed, or took longer than half an hour; then all that it started is ended.
    """
    process = await asyncio.create_subprocess_shell(
        command,
        env={**os.environ, "BACKEND": backend},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(TIMEOUT_S):
            output, _ = await process.communicate()
    except TimeoutError:
        raise UserError(f"--reset_command {command!r} took longer than {TIMEOUT_S:.0f} s") from None
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
    if process.returncode:
        words = output.decode(errors="replace").strip().splitlines()
        raise UserError(
            f"--reset_command {command!r} ended with code {process.returncode}: {(words or ['no output'])[-1]}"
        )
