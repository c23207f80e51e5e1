"""A line for tests of `tests.gpu.short`: writes its figures, fails, or starts a child and sleeps with it."""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--output", type=Path)
    parser.add_argument("--says", default="1")
    given = parser.parse_args()
    if given.says == "sleeps":
        child = subprocess.Popen(["sleep", "600"])
        print(child.pid, flush=True)
        time.sleep(600)
    if given.says == "fails":
        sys.exit("error: a figure that cannot be")
    given.output.write_text(json.dumps({"figure": int(given.says)}))


if __name__ == "__main__":
    main()
