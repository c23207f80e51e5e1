"""Files that several processes read, change and write."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from common.files import locked, read_json, write_json


def test_no_change_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "new" / "counts.json"

    def count(name: int) -> None:
        for _ in range(20):
            with locked(path):
                counts = read_json(path) if path.exists() else {}
                write_json(path, counts | {str(name): counts.get(str(name), 0) + 1}, flush=False)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(count, range(4)))
    assert read_json(path) == {str(name): 20 for name in range(4)}
