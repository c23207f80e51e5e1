"""AgentLab's and BrowserGym's experiments (a folder each, of `step_<n>.pkl.gz`), as trajectory folders.

The pickles name classes of both projects; none is imported: each stands for its fields alone. Screenshots lie beside
them (`screenshot_step_<n>.png`, older ones `.jpg`), the goal in `goal_object.pkl.gz`, the reward in
`summary_info.json`. What an agent thought and its action, a call such as `click('12')`, are its reply.
"""

import gzip
import re
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from common.errors import UserError
from common.files import read_object
from common.safe_pickle import refuse, safe_unpickle
from toolkits.readers.reading.folders import ForeignStep, ForeignTrajectory, Tries, by_rewards, write_folder
from toolkits.readers.reading.steps import said_in, text_of
from toolkits.readers.reading.torch_file import NUMPY

_MOST_BYTES = 96 * 2**20  # of a step, unpacked
_STEP = re.compile(r"step_(\d+)\.pkl\.gz")
_PROJECTS = ("browsergym", "agentlab")
_TREES = ("axtree_txt", "pruned_html", "dom_txt")
_SAID = re.compile(r"send_msg_to_user\((?:text=)?(.*)\)\s*$", re.DOTALL)


def import_agentlab(path: Path, image_dir: Path, out_dir: Path, tries: Tries) -> None:
    """Write the folder of one experiment; the last step, in which nothing was done, is left out.

    Raises:
        UserError: naming file and step.
    """
    if not path.is_dir():
        raise UserError(f"{path}: not a folder of an experiment; it would hold step_0.pkl.gz")
    numbers = sorted(int(found[1]) for file in path.iterdir() if (found := _STEP.fullmatch(file.name)))
    infos = [(number, _fields(_unpickled(path / f"step_{number}.pkl.gz"))) for number in numbers]
    steps = [_step(path, number, info) for number, info in infos if text_of(info.get("action"))]
    first = _fields(infos[0][1].get("obs")) if infos else {}
    task, run = tries.add("agentlab", _goal(path, first), text_of(first.get("url")) or "unknown")
    answer = next((said for step in steps[-1:] if (said := said_in(_SAID, step.reply)) is not None), None)
    summary = read_object(path / "summary_info.json") if (path / "summary_info.json").exists() else {}
    outcome = by_rewards(str(path), "AgentLab", [summary["cum_reward"]]) if "cum_reward" in summary else None
    write_folder(str(path), out_dir, ForeignTrajectory(task, run, "AgentLab", steps, answer, outcome))


class _Fields:
    """What a pickle says of an object of theirs: its fields, nothing of its class."""

    def __new__(cls, *_: Any, **__: Any) -> "_Fields":
        return super().__new__(cls)

    def __init__(self, *_: Any, **__: Any) -> None:
        self.fields: dict[str, Any] = {}

    def __setstate__(self, state: Any) -> None:
        self.fields = state if isinstance(state, dict) else {}

    def __setitem__(self, key: Any, value: Any) -> None:
        """Of a dict that is a class of theirs."""
        self.__dict__.setdefault("fields", {})[key] = value

    def append(self, item: Any) -> None:
        """Of a list that is a class of theirs."""

    def extend(self, items: Any) -> None:
        """Of a list that is a class of theirs."""


def _find(module: str, name: str) -> Any:
    return _Fields if module.partition(".")[0] in _PROJECTS else NUMPY.get((module, name)) or refuse(module, name)


def _unpickled(path: Path) -> Any:
    try:
        with gzip.open(path) as packed:
            content = packed.read(_MOST_BYTES + 1)
        if len(content) > _MOST_BYTES:
            raise UserError(f"unpacks to more than {_MOST_BYTES >> 20} MB")
        return safe_unpickle(content, _find, num_bytes=path.stat().st_size)
    except UserError as error:
        raise UserError(f"{path}: {error}") from None
    except (OSError, EOFError, zlib.error) as error:
        raise UserError(f"{path}: not a packed pickle ({type(error).__name__})") from None


def _fields(value: Any) -> Mapping[str, Any]:
    found = getattr(value, "fields", {}) if isinstance(value, _Fields) else value
    return found if isinstance(found, dict) else {}


def _step(folder: Path, number: int, info: Mapping[str, Any]) -> ForeignStep:
    seen, agent = _fields(info.get("obs")), _fields(info.get("agent_info"))
    tree = next((text for name in _TREES if (text := text_of(seen.get(name)))), "")
    thought = text_of(agent.get("think")) or text_of(_fields(agent.get("extra_info")).get("think"))
    reply = f"Thought: {thought.strip()}\n\nAction: {text_of(info.get('action'))}"
    return ForeignStep(
        tree, reply, _image(folder, number), text_of(seen.get("url")), text_of(seen.get("last_action_error"))
    )


def _image(folder: Path, number: int) -> Path | None:
    names = (f"{kind}_step_{number}.{ending}" for kind in ("screenshot", "screenshot_som") for ending in ("png", "jpg"))
    return next((folder / name for name in names if (folder / name).is_file()), None)


def _goal(folder: Path, seen: Mapping[str, Any]) -> str:
    parts = seen.get("goal_object")
    if not parts and (folder / "goal_object.pkl.gz").exists():
        parts = _unpickled(folder / "goal_object.pkl.gz")
    listed = parts if isinstance(parts, list | tuple) else []
    written = "\n".join(filter(None, (text_of(part.get("text")) for part in listed if isinstance(part, dict))))
    return text_of(seen.get("goal")) or written or folder.name
