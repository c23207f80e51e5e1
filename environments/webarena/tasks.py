"""WebArena's and WebArena-Lite's configuration files as tasks: addresses, logins, ground truth, shared backends."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from common.errors import UserError
from common.files import read_json
from data.task import Task
from environments.webarena.addresses import fill_placeholders

_REQUIRED = ("task_id", "intent", "start_url", "sites")
_TEXTS = ("intent", "start_url", "storage_state")


def read_configurations(path: Path, addresses: Mapping[str, str]) -> list[dict[str, Any]]:
    """What stands in a file, one configuration or a list of them, with `__SHOPPING__` and the like filled in.

    Raises:
        UserError: a field is missing, or a placeholder has no address or is a part of another one.
    """
    content = read_json(path)
    configurations = content if isinstance(content, list) else [content]
    for number, configuration in enumerate(configurations):
        if not isinstance(configuration, dict) or not set(_REQUIRED) <= set(configuration):
            raise UserError(f"{path}: entry {number} is no WebArena task; it needs {', '.join(_REQUIRED)}")
        _check(f"{path}: entry {number}", configuration)
    ids = [str(configuration["task_id"]) for configuration in configurations]
    if twice := next((one for number, one in enumerate(ids) if one in ids[:number]), None):
        raise UserError(f"{path}: the task_id {twice} stands there twice; ids must be unique")
    return fill_placeholders(configurations, addresses, str(path))


def _check(where: str, configuration: Mapping[str, Any]) -> None:
    sites, task_id, truth = (configuration.get(name) for name in ("sites", "task_id", "eval"))
    if not isinstance(sites, list) or not all(isinstance(site, str) for site in sites):
        raise UserError(f"{where}: its sites are no list of names")
    if not isinstance(task_id, int | str) or not isinstance(truth, dict | None):
        raise UserError(f"{where}: its task_id is no number or name, or its eval no object")
    for name in _TEXTS:
        value = configuration.get(name)
        if not (isinstance(value, str) or (value is None and name not in _REQUIRED)):
            raise UserError(f"{where}: its {name} is no text")


def to_tasks(configurations: Sequence[Mapping[str, Any]], state_dir: Path = Path()) -> list[Task]:
    """The tasks of filled configurations; `state_dir` is where a relative `storage_state` lies.

    A task shares its backend with all that use one of its sites. It changes the backend when it says so
    (`require_reset`, which the released files leave false) or when its ground truth looks at the site afterwards
    (`program_html`).
    """
    backends = _backends([configuration["sites"] for configuration in configurations])
    return [_task(configuration, backends, state_dir) for configuration in configurations]


def _task(configuration: Mapping[str, Any], backends: Mapping[str, str], state_dir: Path) -> Task:
    sites, truth = configuration["sites"], configuration.get("eval")
    state = configuration.get("storage_state") or ""
    kinds = truth.get("eval_types") if isinstance(truth, dict) else None
    looks_at_site = isinstance(kinds, list) and "program_html" in kinds
    return Task(
        id=f"webarena--{configuration['task_id']}",
        ques=configuration["intent"],
        web=configuration["start_url"].split(" |AND| ")[0],  # further ones are for tabs, of which we have one
        web_name="+".join(sites),
        eval=truth,
        storage_state=str(state_dir / state) if state else "",
        backend=backends[sites[0]] if sites else "",
        changes_backend=bool(configuration.get("require_reset")) or looks_at_site,
    )


def _backends(used: Sequence[Sequence[str]]) -> dict[str, str]:
    """The backend each site belongs to: sites that some task uses together are one."""
    groups: dict[str, set[str]] = {}
    for sites in used:
        joined = set(sites).union(*(groups.get(site, set()) for site in sites))
        groups.update((site, joined) for site in joined)
    return {site: "+".join(sorted(group)) for site, group in groups.items()}
