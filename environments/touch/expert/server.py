"""The expert behind the OpenAI protocol: python environments/touch/expert/server.py --port 7091

It answers POST /v1/chat/completions for the phone's tasks, in the action space `appagent`.
"""

import sys
from pathlib import Path
from runpy import run_path

try:
    from environments.expert_server import run
except ModuleNotFoundError as missing:  # not the python of the virtual environment
    sys.exit(run_path(str(Path(__file__).resolve().parents[3] / "common" / "not_installed.py"))["say"](missing))

from environments.touch.expert.expert import reply

if __name__ == "__main__":
    run(reply, 7091, __doc__)
