"""Task: one instruction on one website, a JSONL line in OpenWebVoyager's layouts (`ques`, `web`, `id`, ...)."""

import dataclasses
import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from common.errors import UserError
from common.files import read_records, write_atomic
from common.options.fields import check_fields
from common.shown.terminal import printable
from data.names import check_name
from data.task_table import read_table

SITES = ("shop", "encyclopedia", "forum", "timetable", "gallery")
"""The embedded websites, at `<site>.localhost`."""
SITES_PORT = 7070  # the port of the embedded sites in task files; `move_sites` replaces it by the real one


@dataclasses.dataclass(frozen=True)
class Task:
    """`eval`, when present, follows WebArena: `eval_types`, `reference_answers`, and our `site_state`.

    `storage_state` is a file of cookies and local storage to begin with, as Playwright writes it (someone logged in);
    it is checked when a campaign starts, since only that needs it.
    `max_steps` is the most steps of its trajectory, where the run allows more.
    `backend` names a server whose state all its tasks share; one that `changes_backend` is alone there while it runs.
    The id names folders and files, so it is checked (`data.names`). `extra` are fields of its file that mean nothing
    here; they stay with the task.
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
    max_steps: int | None = None
    extra: dict[str, Any] = dataclasses.field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        check_name("the task id", self.id)
        if re.search(r"--run\d+$", self.id):  # as folders of tries are named
            raise UserError(f"the task id {self.id!r} ends as the folder of a try does; give it another end")
        if isinstance(self.max_steps, int) and self.max_steps < 1:
            raise UserError(f"the task's max_steps must be at least 1, not {self.max_steps}")

    def steps_within(self, most: int) -> int:
        """Steps that its trajectory may have in a run that allows so many."""
        return most if self.max_steps is None else min(most, self.max_steps)

    @property
    def site(self) -> str:
        """The name reports group by: WebVoyager's `web_name`, else Mind2Web's `website`, else the host; of an address
        the host."""
        return site_name(self.web_name or self.website or self.web)

    @property
    def truth(self) -> dict[str, Any]:
        """What judges compare with; empty where nothing is known."""
        return self.eval or {}

    def to_json(self) -> dict[str, Any]:
        """The JSONL object; empty optional fields are left out."""
        fields = dataclasses.asdict(self)
        extra = fields.pop("extra")
        return {key: value for key, value in fields.items() if value not in ("", None, False)} | extra


def site_name(name: str) -> str:
    """Of an address the host, without user, password, port and path; any other name stays as it is."""
    try:
        return (urlsplit(name).hostname or name) if "://" in name else name
    except ValueError:
        return name


_SPLIT = re.compile(r"-(IL|optim-\d+|test(-\d+)?|validation|human-extend|voyage)$")


def family_of_task(task_id: str) -> str:
    """`Shop-price` of `Shop-price-test-2--004`: the kind of task, in whatever split it stands. An id without a number
    after `--` is a kind of its own."""
    return _SPLIT.sub("", task_id.rpartition("--")[0]) or task_id


_FIELDS = {field.name for field in dataclasses.fields(Task)} - {"extra"}
_REQUIRED = ("id", "ques", "web")
_PRINTED = ("web", "web_name", "domain", "subdomain", "website", "storage_state")  # in reports and messages
_OTHER_NAMES = {
    "id": ("task_id", "annotation_id"),
    "ques": ("confirmed_task", "question", "instruction", "intent", "goal", "task"),
    "web": ("website", "url", "start_url"),
}
"""What other projects call the required fields (Online-Mind2Web and its like), taken where ours is not there."""
_HOST = re.compile(r"[\w-]+(\.[\w-]+)+(:\d+)?([/?#]\S*)?")  # an address without its scheme
_SHOWN_FIELDS = 12


def read_tasks(path: str | Path) -> list[Task]:
    """Read a task file: JSON lines, a JSON list, one object, or a table (`.tsv`). Fields that mean nothing here are
    kept, and named once.

    Raises:
        UserError: naming the file and the line or record, for a missing file, broken JSON, a missing field, or a
            repeated id.
    """
    path = Path(path)
    if not path.is_file():
        raise UserError(f"{path}: no such task file; give a JSONL file with id, ques and web on each line")
    tasks: dict[str, Task] = {}
    unknown: dict[str, None] = {}
    for where, fields in read_table(path) if path.suffix == ".tsv" else read_records(path):
        task = task_from_json(fields, where)
        if task.id in tasks:
            raise UserError(f"{where}: the id {task.id!r} stands on an earlier line too; ids must be unique")
        tasks[task.id] = task
        unknown.update(dict.fromkeys(task.extra))
    if not tasks:
        raise UserError(f"{path}: holds no task")
    if unknown:
        names = ", ".join([*unknown][:_SHOWN_FIELDS]) + (" ..." if len(unknown) > _SHOWN_FIELDS else "")
        print(printable(f"{path}: fields that mean nothing here are kept: {names}"), file=sys.stderr)
    return list(tasks.values())


def task_from_json(fields: Any, where: str) -> Task:
    """A task as it stands in a JSON file; `UserError`, which begins with `where`, for what is none."""
    if not isinstance(fields, dict):
        raise UserError(f"{where}: a task is a JSON object, this is {type(fields).__name__}")
    fields = _with_our_names(fields)
    for name in _REQUIRED:
        if not isinstance(fields.get(name), str) or not fields[name].strip():
            raise UserError(f"{where}: the task needs a non-empty text field {name!r}")
    known = {name: value for name, value in fields.items() if name in _FIELDS}
    try:
        task = Task(**known, extra={name: value for name, value in fields.items() if name not in _FIELDS})
        check_fields("the task", task)
        _check_extra(task.extra)
        for name in _PRINTED:
            if getattr(task, name) != printable(getattr(task, name)):
                raise UserError(f"the task's {name} {getattr(task, name)!r} holds control characters")
        return task
    except UserError as error:
        raise UserError(f"{where}: {error}") from None


def _check_extra(extra: Mapping[str, Any]) -> None:
    try:
        json.dumps(extra, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise UserError("a field of the task holds half of a surrogate pair, which is no text") from None


def _with_our_names(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Required fields by our names, an id as text, and an address as browsers read it. Of our fields null says nothing;
    of others NaN is null. Mind2Web's `website` is a name, and no address."""
    named = {name: value for name, value in fields.items() if value is not None or name not in _FIELDS}
    named |= {name: None for name, value in named.items() if value != value and name not in _FIELDS}
    for ours, others in _OTHER_NAMES.items():
        is_fit = _is_address if ours == "web" else lambda value: value is not None
        theirs = next((name for name in others if is_fit(named.get(name))), None)
        if ours not in named and theirs is not None:
            named[ours] = named.pop(theirs)
    if type(named.get("id")) is int:
        named["id"] = str(named["id"])
    web = named.get("web")
    if isinstance(web, str) and _HOST.fullmatch(web.strip()):
        named["web"] = f"https://{web.strip()}"
    return named


def _is_address(value: Any) -> bool:
    return isinstance(value, str) and ("://" in value or _HOST.fullmatch(value.strip()) is not None)


def write_tasks(path: str | Path, tasks: Iterable[Task]) -> None:
    """Write a JSONL task file atomically."""
    write_atomic(Path(path), "".join(json.dumps(task.to_json(), ensure_ascii=False) + "\n" for task in tasks))


def move_sites(tasks: Sequence[Task], port: int | None) -> list[Task]:
    """Point tasks on the embedded sites (`<site>.localhost:7070`) to the port where these run; None changes nothing."""
    if port is None:
        return list(tasks)
    pattern = re.compile(rf"^(https?://[\w-]+\.localhost):{SITES_PORT}(?=/|$)")
    return [dataclasses.replace(task, web=pattern.sub(rf"\1:{port}", task.web)) for task in tasks]
