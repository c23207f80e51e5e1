"""What the inference servers of this machine say of themselves: queue, batch, weights. They are asked as any load
balancer asks them, by `/health`."""

import contextlib
import re
from collections.abc import Iterable
from typing import Any

from common.files import parse_json
from common.network.own_services import answer_of
from viewer.catalog.heads import as_number, as_object, as_text, shortened

_OWN = re.compile(r"http://(127\.0\.0\.1|localhost):(\d{1,5})(?![\d.@])")
"""Trajectories say where their policy was, and may be anybody's: no other machine is asked."""
_TIMEOUT_S = 0.5
_MOST = 4


def servers(policies: Iterable[str]) -> list[dict[str, Any]]:
    """JSON of those that answer, by the names of policies: `num_waiting`, `num_running`, `status`, `version`."""
    found = []
    ports = dict.fromkeys(int(match[2]) for policy in policies if (match := _OWN.search(policy)))
    for port in list(ports)[:_MOST]:
        said = _health(port)
        counts = {name: as_number(said.get(name)) for name in ("num_waiting", "num_running")}
        if None not in counts.values():
            words = {"status": said.get("status"), "version": said.get("weights_version")}
            found.append({"port": port, **counts, **{name: shortened(as_text(one)) for name, one in words.items()}})
    return found


def _health(port: int) -> dict[str, Any]:
    """{} where nobody answers, or something else does."""
    answer = answer_of(f"http://127.0.0.1:{port}/health", _TIMEOUT_S)
    with contextlib.suppress(ValueError):
        return as_object(parse_json(answer[1])) if answer else {}
    return {}
