"""Starting and stopping: clear refusals in no time, a draining end."""

import json
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

from common import cli
from common.errors import UserError
from common.processes import listen
from server.config import ServerConfig
from server.engine.model.vision_language_model import LoadOptions, VisionLanguageModel
from server.hf_online_server import main, warn_of_strangers
from tests.server.helpers import SERVER, RunningServer, png, screenshot, server_environment


def refusal(*flags: str) -> str:
    """The one line that the server ends with."""
    result = subprocess.run(
        [sys.executable, str(SERVER), *flags], env=server_environment(), capture_output=True, text=True, timeout=250
    )
    assert result.returncode == 2, result.stderr
    lines = result.stderr.strip().splitlines()
    assert len(lines) == 1, result.stderr
    return lines[0]


def damaged(policy: Path, folder: Path, change: Callable[[Path], object]) -> str:
    shutil.copytree(policy, folder)
    change(folder)
    return str(folder)


def test_refusals_load_nothing_heavy() -> None:
    code = "import sys, server.hf_online_server; sys.exit('torch' in sys.modules or 'fastapi' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], env=server_environment(), check=True, timeout=60)


def test_numbers_out_of_range() -> None:
    assert "--max_batch_size must be at least 1, not 0" in refusal("--model_name_or_path", "x", "--max_batch_size", "0")


def test_a_missing_folder() -> None:
    assert "no such folder" in refusal("--model_name_or_path", "/nowhere/at/all")


def test_a_folder_that_is_no_model(tmp_path: Path) -> None:
    assert "no config.json" in refusal("--model_name_or_path", str(tmp_path))


def test_a_megatron_checkpoint_is_told_what_makes_it_servable(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "idefics2"}))
    (tmp_path / "latest_checkpointed_iteration.txt").write_text("release")
    line = refusal("--model_name_or_path", str(tmp_path))
    assert "this is a Megatron checkpoint" in line and f"mg2hf.sh --load_path {tmp_path} " in line


def test_another_model_type(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "bert"}))
    assert "model_type is 'bert'; supported: idefics2," in refusal("--model_name_or_path", str(tmp_path))


def test_a_folder_without_weights(tiny_policy: Path, tmp_path: Path) -> None:
    folder = damaged(tiny_policy, tmp_path / "x", lambda path: (path / "model.safetensors").unlink())
    assert "no model.safetensors or pytorch_model.bin here" in refusal("--model_name_or_path", folder)


def test_weights_of_another_shape(tiny_policy: Path, tmp_path: Path) -> None:
    """Transformers would put random weights in their place."""

    def deepen(path: Path) -> None:
        config = json.loads((path / "config.json").read_text())
        config["text_config"]["num_hidden_layers"] = 3
        (path / "config.json").write_text(json.dumps(config))

    folder = damaged(tiny_policy, tmp_path / "x", deepen)
    assert "layernorm.weight (and 8 more are missing)" in refusal("--model_name_or_path", folder, "--port", "0")


def test_cut_weights(tiny_policy: Path, tmp_path: Path) -> None:
    def cut(path: Path) -> None:
        weights = path / "model.safetensors"
        weights.write_bytes(weights.read_bytes()[:50_000])

    folder = damaged(tiny_policy, tmp_path / "x", cut)
    with pytest.raises(UserError, match="not a readable safetensors file"):
        VisionLanguageModel(Path(folder), LoadOptions(device="cpu"))


def test_a_missing_processor(tiny_policy: Path, tmp_path: Path) -> None:
    folder = damaged(tiny_policy, tmp_path / "x", lambda path: (path / "processor_config.json").unlink())
    with pytest.raises(UserError, match="its processor does not load"):
        VisionLanguageModel(Path(folder), LoadOptions(device="cpu"))


def test_a_port_in_use(tiny_policy: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        line = refusal("--model_name_or_path", str(tiny_policy), "--port", str(taken.getsockname()[1]))
    assert "cannot listen on 127.0.0.1" in line


def test_an_unknown_device(tiny_policy: Path) -> None:
    with pytest.raises(UserError, match="--device tpu: not usable here"):
        VisionLanguageModel(tiny_policy, LoadOptions(device="tpu"))


def test_health(server: RunningServer) -> None:
    health = server.get("/health")
    assert health["status"] == "ok"
    assert health["weights_version"].startswith("policy@")


def test_sigterm_finishes_what_is_under_way(start_server: Callable[..., RunningServer], tiny_policy: Path) -> None:
    server = start_server(tiny_policy)
    turns = [{"role": "user", "content": "go"}]
    request = {"conversations": turns, "images": [], "temperature": 0, "max_new_tokens": 400}
    replies = []
    client = threading.Thread(target=lambda: replies.append(server.post("/predict", request)))
    client.start()
    while server.get("/health")["num_running"] == 0:
        time.sleep(0.01)
    server.process.send_signal(signal.SIGTERM)
    client.join(60)
    assert server.process.wait(60) == 0
    status, reply = replies[0]
    assert status == 200
    assert reply["completion_tokens"] == 400


def test_image_flags_reach_the_processor(tiny_policy: Path) -> None:
    """Quartered images take five times the image tokens."""
    model = VisionLanguageModel(tiny_policy, LoadOptions(device="cpu", image_size=112, do_image_splitting=True))
    assert tuple(model.pixels(screenshot(0))["pixel_values"].shape) == (1, 5, 3, 112, 112)
    ids = model.prompt_ids([{"role": "user", "content": [{"type": "image"}]}], [(48, 64)])
    assert ids.count(model.image_token_id) == 5 * 8


def test_without_a_model_the_starting_policy_is_served(tmp_path: Path) -> None:
    """As typed in its own folder; one line says what was taken."""
    command = [sys.executable, SERVER.name, "--port", "0"]
    process = subprocess.Popen(
        command, cwd=SERVER.parent, env=server_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        server = RunningServer(process, process.stdout.readline().strip())
        assert "starting_policy/weights on http" in server.ready_line
        turn = {"role": "user", "content": "Find it\nOBSERVATION:\n<image>\n[1] RootWebArea 'Shop'"}
        body = {"id": "task1", "conversations": [turn], "images": [png(screenshot(1))], "max_new_tokens": 4}
        status, reply = server.post("/predict", body)
        assert status == 200 and reply["completion_tokens"] == 4
    finally:
        process.terminate()
        said = process.communicate(timeout=60)[1]
    assert said.startswith("no --model_name_or_path: taking the starting policy ") and said.count("\n") == 1


def test_a_python_without_torch_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that only collects has our packages, but none of a model's."""
    monkeypatch.setattr(cli, "find_spec", lambda name: None if name == "torch" else find_spec(name))
    with pytest.raises(UserError, match=r"No module named 'torch' in .*; run: bash .*install\.sh && source"):
        main(ServerConfig(port=0))


def test_other_machines_without_a_key_are_one_warning(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("ELCANO_API_KEY", raising=False)

    def said(host: str, **flags: str) -> str:
        with listen(0, host) as listener:
            warn_of_strangers(ServerConfig(host=host, **flags), listener)
        return capsys.readouterr().err

    [line] = said("0.0.0.0").splitlines()
    assert line.startswith("warning: --host 0.0.0.0 without a key") and "/reload" in line and "ELCANO_API_KEY" in line
    assert said("127.0.0.1") == said("localhost") == said("0.0.0.0", api_key="k") == ""
    monkeypatch.setenv("ELCANO_API_KEY", "k")
    assert said("0.0.0.0") == ""
