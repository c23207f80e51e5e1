"""Tasks as tab-separated values: WebTailBench's `WebTailBench.tsv` and `WebTailBench-v*-rubrics.tsv`.

Columns, as the benchmark's own loader reads them (microsoft/fara, `webeval`): `id`, `task_summary`, `benchmark` (the
category that reports group by), and perhaps `init_url` and `precomputed_rubric`. A task without an address begins where
Fara's own runs do.
"""

import csv
import io
from collections.abc import Iterator
from pathlib import Path

from common.errors import UserError
from common.files import decode_text

START = "https://www.bing.com"
_COLUMNS = ("id", "task_summary", "benchmark")


def read_table(path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """(where it stands, the fields of a task) of each row; columns that mean nothing here stay as they are.

    Raises:
        UserError: no text, no such columns, or a row that has more or fewer than the first.
    """
    try:
        reader = csv.DictReader(io.StringIO(decode_text(path.read_bytes()), newline=""), delimiter="\t")
        if missing := [name for name in _COLUMNS if name not in (reader.fieldnames or ())]:
            raise UserError(
                f"{path}: a table of tasks needs the columns {', '.join(_COLUMNS)}; {missing[0]} is missing"
            )
        for row in reader:
            if None in row or None in row.values():
                raise UserError(f"{path}:{reader.line_num}: has not as many columns as the first line")
            rest = {name: value for name, value in row.items() if name not in (*_COLUMNS, "init_url")}
            begin = (row.get("init_url") or "").strip() or START
            task = {"id": row["id"], "ques": row["task_summary"].strip(), "web": begin, "web_name": row["benchmark"]}
            yield f"{path}:{reader.line_num}", task | {name: value for name, value in rest.items() if value}
    except (csv.Error, UnicodeDecodeError) as error:
        raise UserError(f"{path}: not tab-separated values ({error})") from None
