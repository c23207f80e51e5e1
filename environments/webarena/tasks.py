"""WebArena's task files, and others in its form: placeholders for addresses, login state, and shared backends.

    SHOPPING=http://10.0.0.5:7770 python collection/run.py --env webarena --test_file test.raw.json \\
        --reset_command "bash reset.sh" --headless --api_localhost http://127.0.0.1:8080/predict

`__SHOPPING__` stands for the address in the environment variable SHOPPING, and so on for WebArena's other sites. Sites
that some task uses together are one backend; tasks that `require_reset` change it and run alone there, and the reset
command runs after each.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from common.errors import UserError
from common.files import read_json
from data.task import Task
from environments.webarena.configurations import addresses_from_environment, fill_placeholders

_REQUIRED = ("task_id", "intent", "start_url", "sites")


def read_webarena(path: Path, addresses: Mapping[str, str] | None = None) -> list[Task]:
    """The tasks of a file that holds one of WebArena's configurations or a list of them.

    `addresses` of the sites by their names; None: from the environment.

    Raises:
        UserError: a field is missing, or nothing says what a placeholder stands for.
    """
    content = read_json(path)
    configs = content if isinstance(content, list) else [content]
    for number, config in enumerate(configs):
        if not isinstance(config, dict) or not set(_REQUIRED) <= set(config):
            raise UserError(f"{path}: entry {number} is no WebArena task; it needs {', '.join(_REQUIRED)}")
    backends = _backends([config["sites"] for config in configs])
    filled = fill_placeholders(json.dumps(configs), addresses or addresses_from_environment(), str(path))
    return [_task(config, backends) for config in json.loads(filled)]


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
