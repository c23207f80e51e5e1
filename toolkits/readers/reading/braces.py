"""Names of many tars in one, as webdataset and energon write them: `shard-{000..002}.tar`, `{a,b}/x.tar`."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from common.errors import UserError

_BRACES = re.compile(r"\{(\d+)\.\.(\d+)\}|\{([^{}]*,[^{}]*)\}")
_MOST = 1_000_000


def expanded(where: str, names: Sequence[str]) -> Iterator[str]:
    """Each name that they stand for, in order; `UserError` after a million."""
    count = 0
    todo = list(reversed(names))
    while todo:
        name = todo.pop()
        found = _BRACES.search(name)
        if not found:
            count += 1
            yield name
            continue
        if found[3] is not None:
            inner = found[3].split(",")
        else:
            first, last = int(found[1][:9]), int(found[2][:9])
            step = 1 if first <= last else -1
            if abs(last - first) > _MOST or count > _MOST:
                raise UserError(f"{where}: {name!r:.60} stands for more than {_MOST} tars")
            inner = [str(number).zfill(len(found[1])) for number in range(first, last + step, step)]
        todo += [name[: found.start()] + part + name[found.end() :] for part in reversed(inner)]


def files_of(path: Path) -> list[Path]:
    """The file itself, or those that its name stands for where there is none of this name."""
    if path.exists() or not _BRACES.search(str(path)):
        return [path]
    return [Path(name) for name in expanded(str(path), [str(path)])]
