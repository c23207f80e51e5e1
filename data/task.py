"""Task: one instruction on one website, a JSONL line in OpenWebVoyager's layouts (`ques`, `web`, `id`, ...)."""

import dataclasses
import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from common.errors import UserError
from common.fields import check_fields
from common.files import parse_json, read_lines, write_atomic
from common.terminal import printable
from data.names import check_name

SITES = ("shop", "encyclopedia", "forum", "timetable", "gallery")
"""The embedded websites, at `<site>.localhost`."""
SITES_PORT = 7070  # the port of the embedded sites in task files; `move_sites` replaces it by the real one


@dataclasses.dataclass(frozen=True)
class Task:
    """`eval`, when present, follows WebArena: `eval_types`, `reference_answers`, and our `site_state`.

    `storage_state` is a file of cookies and local storage to begin with, as Playwright writes it (someone logged in);
    it is checked when a campaign starts, since only that needs it.
    `backend` names a server whose state all its tasks share; one that `changes_backend` is alone there while it runs.
    The id names folders and files, so it is checked (`data.names`).
    """

    id: str
    ques: str
    web: str
    web_name: str = ""
    domain: str = ""
    subdomain: str = ""
    website: str = ""
    eval: dict[str, Any] | None = None
    storage_state: str = ""
    backend: str = ""
    changes_backend: bool = False

    def __post_init__(self) -> None:
        check_name("the task id", self.id)
        if re.search(r"--run\d+$", self.id):  # as folders of tries are named
            raise UserError(f"the task id {self.id!r} ends as the folder of a try does; give it another end")

    @property
    def site(self) -> str:
        """The name reports group by: WebVoyager's `web_name`, else Mind2Web's `website`, else the host."""
        return self.web_name or self.website or re.sub(r"^\w+://([^/:]+).*", r"\1", self.web)

    def to_json(self) -> dict[str, Any]:
        """The JSONL object; empty optional fields are left out."""
        return {key: value for key, value in dataclasses.asdict(self).items() if value not in ("", None, False)}


_SPLIT = re.compile(r"-(IL|optim-\d+|test(-\d+)?|validation|human-extend)$")


def family_of_task(task_id: str) -> str:
    """`Shop-price` of `Shop-price-test-2--004`: the kind of task, in whatever split it stands."""
    return _SPLIT.sub("", task_id.rpartition("--")[0]) or task_id


_FIELDS = {field.name for field in dataclasses.fields(Task)}
_REQUIRED = ("id", "ques", "web")
_PRINTED = ("web", "web_name", "domain", "subdomain", "website", "storage_state")  # in reports and messages


def read_tasks(path: str | Path) -> list[Task]:
    """Read a JSONL task file.

    Raises:
        UserError: naming `file:line`, for a missing file, broken JSON, a missing or unknown field, or a repeated id.
    """
    path = Path(path)
    try:
        lines = read_lines(path)
    except (FileNotFoundError, IsADirectoryError):
        raise UserError(f"{path}: no such task file; give a JSONL file with id, ques and web on each line") from None
    except UnicodeDecodeError:
        raise UserError(
            f"{path}: not a UTF-8 text file; give a JSONL file with id, ques and web on each line"
        ) from None
    tasks: dict[str, Task] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        task = _parse(line, where=f"{path}:{number}")
        if task.id in tasks:
            raise UserError(f"{path}:{number}: the id {task.id!r} stands on an earlier line too; ids must be unique")
        tasks[task.id] = task
    if not tasks:
        raise UserError(f"{path}: holds no task")
    return list(tasks.values())


def _parse(line: str, where: str) -> Task:
    try:
        fields = parse_json(line)
    except json.JSONDecodeError as error:
        raise UserError(f"{where}: not valid JSON ({error.msg} at column {error.colno})") from None
    except ValueError as error:
        raise UserError(f"{where}: not valid JSON ({error})") from None
    return task_from_json(fields, where)


def task_from_json(fields: Any, where: str) -> Task:
    """A task as it stands in a JSON file; `UserError`, which begins with `where`, for what is none."""
    if not isinstance(fields, dict):
        raise UserError(f"{where}: a task is a JSON object, this is {type(fields).__name__}")
    for name in fields:
        if name not in _FIELDS:
            raise UserError(f"{where}: unknown task field {name!r}; known are {', '.join(sorted(_FIELDS))}")
    for name in _REQUIRED:
        if not isinstance(fields.get(name), str) or not fields[name].strip():
            raise UserError(f"{where}: the task needs a non-empty text field {name!r}")
    try:
        task = Task(**fields)
        check_fields("the task", task)
        for name in _PRINTED:
            if getattr(task, name) != printable(getattr(task, name)):
                raise UserError(f"the task's {name} {getattr(task, name)!r} holds control characters")
        return task
    except UserError as error:
        raise UserError(f"{where}: {error}") from None


def write_tasks(path: str | Path, tasks: Iterable[Task]) -> None:
    """Write a JSONL task file atomically."""
    write_atomic(Path(path), "".join(json.dumps(task.to_json(), ensure_ascii=False) + "\n" for task in tasks))


def move_sites(tasks: Sequence[Task], port: int | None) -> list[Task]:
    """Point tasks on the embedded sites (`<site>.localhost:7070`) to the port where these run; None changes nothing."""
    if port is None:
        return list(tasks)
    pattern = re.compile(rf"^(https?://[\w-]+\.localhost):{SITES_PORT}(?=/|$)")
    return [dataclasses.replace(task, web=pattern.sub(rf"\1:{port}", task.web)) for task in tasks]
