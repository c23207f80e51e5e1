"""What a command reads is never what it writes."""

from collections.abc import Iterable
from pathlib import Path

from common.errors import UserError


def keep_inputs(flag: str, target: str | Path, inputs: Iterable[str | Path]) -> None:
    """`UserError` where the output that `flag` names is an input, by whatever name; "" is no output."""
    place = Path(target).resolve()
    if str(target) and (same := next((one for one in inputs if Path(one).resolve() == place), None)) is not None:
        raise UserError(f"{flag} {target}: this is the input {same}, which would be lost; give another name")
