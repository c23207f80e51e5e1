"""Databases of applications, read as their servers leave them."""

import sqlite3
import subprocess
import sys
from pathlib import Path

from environments.apps.sqlite import rows

KILLED = """
import os, sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("PRAGMA cache_size = 1")  # so that pages reach the file before the end
connection.execute("BEGIN")
connection.execute("UPDATE bug SET title = 'half' || title")
os.kill(os.getpid(), 9)
"""


def test_what_a_killed_server_had_half_written_is_taken_back(tmp_path: Path) -> None:
    database = tmp_path / "wiki.sqlite"
    with sqlite3.connect(database) as connection:
        connection.execute("CREATE TABLE bug (title TEXT)")
        connection.executemany("INSERT INTO bug VALUES (?)", [(f"{number:04d}" * 100,) for number in range(200)])
    connection.close()
    subprocess.run([sys.executable, "-c", KILLED, str(database)], check=False)
    assert Path(f"{database}-journal").exists()
    found = rows(database, "bug", "SELECT title FROM bug")
    assert len(found) == 200 and not any(row["title"].startswith("half") for row in found)
