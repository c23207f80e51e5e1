"""The scripted expert behind the OpenAI protocol: python environments/apps/expert/server.py --port 7092

It answers POST /v1/chat/completions and GET /v1/models, for tasks of the applications only.
"""

import sys
from pathlib import Path
from runpy import run_path

try:
    from environments.expert_server import run
except ModuleNotFoundError as missing:  # not the python of the virtual environment
    sys.exit(run_path(str(Path(__file__).resolve().parents[3] / "common" / "not_installed.py"))["say"](missing))

from environments.apps.expert.expert import reply

if __name__ == "__main__":
    run(reply, 7092, __doc__)
