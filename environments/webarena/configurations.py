"""WebArena's configuration files as tasks: addresses for placeholders, login state, ground truth."""

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from common.errors import UserError
from common.files import read_json
from data.task import Task
from environments.browser.url_policy import host_and_port

# The sites by the names of WebArena's environment variables; a file says `__SHOPPING__` and so on.
SITES = ("SHOPPING", "SHOPPING_ADMIN", "REDDIT", "GITLAB", "MAP", "WIKIPEDIA", "HOMEPAGE")
_PORTS = {"http": 80, "https": 443}
_PLACEHOLDER = re.compile(r"__([A-Z_]+?)__")


def addresses_from_environment() -> dict[str, str]:
    """The sites' addresses, from variables such as SHOPPING=http://shop.test:7770, without a slash at the end."""
    return {site: os.environ[site].rstrip("/") for site in SITES if os.environ.get(site)}


def hosts_from_environment() -> list[str]:
    """`host:port` of these sites: who sets the variables says that agents may go there, also in a private network."""
    parts = [urlsplit(address) for address in addresses_from_environment().values()]
    return [host_and_port(part.hostname, part.port or _PORTS[part.scheme]) for part in parts if part.scheme in _PORTS]


def fill_placeholders(text: str, addresses: Mapping[str, str], where: str) -> str:
    """A JSON text with each `__SITE__` replaced, for the names in `SITES` alone; UserError for one without an address.
    A task file comes from elsewhere, and could otherwise ask for any variable of the environment."""

    def address(match: re.Match[str]) -> str:
        if match[1] not in SITES:
            return match[0]  # such as `__page__` or `__last_url__`, which evaluators know
        if match[1] not in addresses:
            raise UserError(f"{where}: needs the address of {match[1]}; set the environment variable {match[1]}")
        return json.dumps(addresses[match[1]].rstrip("/"))[1:-1]

    return _PLACEHOLDER.sub(address, text)


def read_configurations(path: Path, addresses: Mapping[str, str]) -> list[dict[str, Any]]:
    """A raw file (a JSON list) with its placeholders filled; sites that no placeholder names need no address."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError:
        raise UserError(f"{path}: no such configuration file") from None
    try:
        configurations = json.loads(fill_placeholders(text, addresses, str(path)))
    except json.JSONDecodeError as error:
        raise UserError(f"{path}: not valid JSON ({error})") from None
    if not isinstance(configurations, list) or not all(isinstance(item, dict) for item in configurations):
        raise UserError(f"{path}: a WebArena configuration file is a JSON list of objects")
    return configurations


def to_task(configuration: Mapping[str, Any], state_dir: Path | None = None) -> Task:
    """One configuration as a task; `state_dir` is where its relative `storage_state` lies.

    Tasks of a site share its backend, and those that look at the site afterwards (`program_html`) change it.

    Raises:
        UserError: a field is missing.
    """
    try:
        number, intent, start = configuration["task_id"], configuration["intent"], configuration["start_url"]
        sites, evaluation = configuration["sites"], configuration["eval"]
    except KeyError as error:
        raise UserError(f"WebArena configuration {configuration.get('task_id', '?')}: no field {error}") from None
    state = configuration.get("storage_state") or ""
    if state and state_dir is not None:
        state = str(state_dir / state)
    return Task(
        id=f"webarena--{number}",
        ques=intent,
        web=start.split(" |AND| ")[0],
        web_name="+".join(sites),
        eval=evaluation,
        storage_state=state,
        backend="+".join(sorted(sites)),
        changes_backend="program_html" in evaluation["eval_types"],
    )


def read_task_files(folder: Path) -> list[dict[str, Any]]:
    """The configurations `<number>.json` that generate_test_data left in a folder, in the order of their numbers."""
    files = sorted(folder.glob("[0-9]*.json"), key=lambda path: int(path.stem) if path.stem.isdigit() else 0)
    if not files:
        raise UserError(f"{folder}: holds no <number>.json; run environments/webarena/generate_test_data.py")
    return [read_json(path) for path in files]
