"""WebArena's task files, and others in its form: placeholders for addresses, login state, and shared backends.

    SHOPPING=http://10.0.0.5:7770 python collection/run.py --env webarena --test_file test.raw.json \\
        --reset_command "bash reset.sh" --headless --api_localhost http://127.0.0.1:8080/predict

`__SHOPPING__` stands for the address in the environment variable SHOPPING. Sites that some task uses together are one
backend; tasks that `require_reset` change it and run alone there, and the reset command runs after each.
"""

import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from data.errors import UserError
from data.files import read_json
from data.task import Task

_PLACEHOLDER = re.compile(r"__([A-Z][A-Z0-9_]*?)__")
_REQUIRED = ("task_id", "intent", "start_url", "sites")


def read_webarena(path: Path, urls: Mapping[str, str] = os.environ) -> list[Task]:
    """The tasks of a file that holds one of WebArena's configurations or a list of them.

    Raises:
        UserError: a field is missing, or nothing says what a placeholder stands for.
    """
    content = read_json(path)
    configs = content if isinstance(content, list) else [content]
    for number, config in enumerate(configs):
        if not isinstance(config, dict) or not set(_REQUIRED) <= set(config):
            raise UserError(f"{path}: entry {number} is no WebArena task; it needs {', '.join(_REQUIRED)}")
    backends = _backends([config["sites"] for config in configs])
    return [_task(fill(config, urls, path), backends) for config in configs]


def fill(value: Any, urls: Mapping[str, str], where: Path) -> Any:
    """`value` with every placeholder in it replaced."""

    def address(match: re.Match[str]) -> str:
        if match[1] not in urls:
            raise UserError(f"{where}: {match[0]} stands for an address; set the environment variable {match[1]}")
        return urls[match[1]].rstrip("/")

    return json.loads(_PLACEHOLDER.sub(address, json.dumps(value)))


def _task(config: dict[str, Any], backends: Mapping[str, str]) -> Task:
    sites = config["sites"]
    return Task(
        id=f"webarena--{config['task_id']}",
        ques=config["intent"],
        web=config["start_url"].split(" |AND| ")[0],  # further ones are for tabs, of which we have one
        web_name=sites[0] if sites else "",
        eval=config.get("eval"),
        storage_state=config.get("storage_state") or "",
        backend=backends[sites[0]] if sites else "",
        changes_backend=bool(config.get("require_reset")),
    )


def _backends(used: Sequence[Sequence[str]]) -> dict[str, str]:
    """The backend each site belongs to: sites that some task uses together are one."""
    groups: dict[str, set[str]] = {}
    for sites in used:
        joined = set(sites).union(*(groups.get(site, set()) for site in sites))
        groups.update((site, joined) for site in joined)
    return {site: "+".join(sorted(group)) for site, group in groups.items()}
