"""Serve Auto-UI for evaluation, behind `/predict`:

    python -m server.autoui --policy Auto-UI-Base --vision blip2-opt-2.7b --port 8080
    python collection/run.py --env touch --action_space autoui --api_localhost http://localhost:8080/predict ...

One request at a time. Replies come without token ids, so nothing can be learned from them online.
"""

import dataclasses
import sys
from pathlib import Path
from runpy import run_path
from typing import Annotated

try:
    from common import cli
except ModuleNotFoundError as missing:  # not the python of the virtual environment
    sys.exit(run_path(str(Path(__file__).resolve().parents[2] / "common" / "not_installed.py"))["say"](missing))

from common.options.key_flags import hide_keys
from common.options.limits import Checked, Port, at_least
from common.processes import listen
from data.checkpoint_folder import fingerprint
from data.sampling import Temperature
from models.checkpoint.weight_files import find_weight_files
from server.config import ServerConfig
from server.hf_online_server import end_at_sigterm, run, warn_of_strangers


@dataclasses.dataclass(frozen=True, kw_only=True)
class Config(Checked):
    """Serve Auto-UI."""

    policy: Path
    """Folder of the released policy: config.json, a tokenizer, weights."""
    vision: Path
    """Folder of BLIP-2, whose vision model makes the features of screenshots."""
    device: str = ""
    """cpu, cuda:0, ... Empty: the first GPU, else the CPU."""
    temperature: Temperature = 1.0
    """Where a request says none; 0 is greedy."""
    max_new_tokens: Annotated[int, at_least(1)] = 128
    """Longest reply."""
    port: Port = 8080
    """Port to listen on; 0 picks a free one."""
    host: str = "127.0.0.1"
    """Address to listen on; 0.0.0.0 serves every machine that reaches this one, so set ELCANO_API_KEY too."""


def main(config: Config) -> None:
    """Load the model and serve until a signal."""
    http = ServerConfig(port=config.port, host=config.host)
    listener = listen(config.port, config.host)
    warn_of_strangers(http, listener)
    end_at_sigterm()
    import torch

    from server.autoui.model import AutoUI
    from server.autoui.protocol import create_app

    device = config.device or ("cuda" if torch.cuda.is_available() else "cpu")
    model = AutoUI(config.policy, config.vision, torch.device(device))
    weights = "pytorch_model*.bin" if find_weight_files(config.policy).are_pickles else "*.safetensors"
    version = f"{config.policy.resolve().name}@{fingerprint(config.policy, weights)}"
    app = create_app(model, version, config.temperature, config.max_new_tokens)
    print(f"serving {config.policy} on http://{config.host}:{listener.getsockname()[1]}", flush=True)
    run(app, http, listener)


if __name__ == "__main__":
    hide_keys("ELCANO_API_KEY")
    cli.run(Config, main, description=__doc__)
