"""A line for tests of `tests.gpu.short`: writes its figures, fails, or starts a child and sleeps with it. Rows do what
their names say."""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--output", type=Path)
    parser.add_argument("--says", default="1")
    parser.add_argument("--rows", nargs="*", default=())
    given = parser.parse_args()
    if given.says == "sleeps":
        child = subprocess.Popen(["sleep", "600"])
        print(child.pid, flush=True)
        time.sleep(600)
    if given.says == "fails":
        sys.exit("error: a figure that cannot be")
    found: dict[str, dict[str, object]] = {}
    for row in given.rows:
        if row == "sleeps":
            time.sleep(600)
        if row == "crash":
            os._exit(1)  # as a broken GPU ends a process
        found[row] = {"error": "it does not fit"} if row == "error" else {"figure": int(row)}
        given.output.write_text(json.dumps(found))
    if not given.rows:
        given.output.write_text(json.dumps({"figure": int(given.says)}))


if __name__ == "__main__":
    main()
