"""The reset hook: a command of the user's that puts the websites back to their first state, run before collecting."""

import os
import shlex
import subprocess

from common.errors import UserError

TIMEOUT_S = 1800.0  # restarting WebArena's containers takes minutes


def reset_sites(command: str) -> None:
    """Run the command; nothing when there is none.

    Raises:
        UserError: it cannot be run, failed, or took longer than half an hour.
    """
    if not command:
        return
    try:
        done = subprocess.run(shlex.split(command), timeout=TIMEOUT_S, env=os.environ, capture_output=True, text=True)
    except (OSError, ValueError) as error:
        raise UserError(f"--reset_command {command!r} cannot be run: {error}") from None
    except subprocess.TimeoutExpired:
        raise UserError(f"--reset_command {command!r} took longer than {TIMEOUT_S:.0f} s") from None
    if done.returncode:
        words = (done.stderr or done.stdout).strip().splitlines()
        raise UserError(
            f"--reset_command {command!r} ended with code {done.returncode}: {(words or ['no output'])[-1]}"
        )
