"""POST /reload with an adapter's folder, under load: each reply is its own version's; the model stays."""

import concurrent.futures
import json
import random
import time
from pathlib import Path

import pytest

from common.errors import UserError
from server.engine.model.vision_language_model import LoadOptions, VisionLanguageModel
from tests.server.helpers import observation, running_server
from tests.server.models.test_lora import save_adapter

PROMPTS = [observation(seed, 12) for seed in range(3)]


def ask(server: object, prompt: str, number: int) -> tuple[str, str]:
    """(weights version, text) of a greedy reply."""
    said = {"conversations": [{"role": "user", "content": prompt}], "images": [], "id": f"task{number}"}
    status, answer = server.post("/predict", {**said, "temperature": 0, "max_new_tokens": 12})
    assert status == 200, answer
    return answer["weights_version"], answer["text"]


def test_each_reply_under_way_is_its_own_versions(tiny_policy: Path, tmp_path: Path) -> None:
    base = {"base_model_name_or_path": str(tiny_policy)}
    folders = [save_adapter(tmp_path / f"{number:06d}", number, **base) for number in range(1, 5)]
    with running_server(tiny_policy, "--max_batch_size", "4") as server:
        expected = {}
        bare = server.get("/health")["weights_version"]
        for version, folder in [(bare, None), *((None, folder) for folder in folders)]:
            if folder:
                status, answer = server.post("/reload", {"model_name_or_path": str(folder)})
                assert status == 200, answer
                version = answer["weights_version"]
                assert version.startswith(f"{folder.name}@") and server.get("/health")["weights_version"] == version
            for prompt in PROMPTS:
                said, text = ask(server, prompt, 0)
                assert said == version
                expected[version, prompt] = text
        assert len({tuple(expected[version, prompt] for prompt in PROMPTS) for version, _ in expected}) == 5
        until = time.monotonic() + 8
        replies: list[tuple[str, str, str]] = []

        def walk(number: int) -> None:
            rng = random.Random(number)
            while time.monotonic() < until:
                prompt = rng.choice(PROMPTS)
                replies.append((*ask(server, prompt, number), prompt))

        with concurrent.futures.ThreadPoolExecutor(6) as pool:
            walks = [pool.submit(walk, number) for number in range(6)]
            rng = random.Random(0)
            while time.monotonic() < until:
                assert server.post("/reload", {"model_name_or_path": str(rng.choice(folders))})[0] == 200
            for one in walks:
                one.result(60)
        assert len(replies) > 20 and len({version for version, _, _ in replies}) > 2
        assert [one for one in replies if expected[one[0], one[2]] != one[1]] == []


def test_a_server_starts_with_an_adapter_on_the_model_that_it_names(tiny_policy: Path, tmp_path: Path) -> None:
    folder = save_adapter(tmp_path / "000007", 7, base_model_name_or_path=str(tiny_policy))
    with running_server(folder) as server:
        assert server.get("/health")["weights_version"].startswith("000007@")


def test_an_adapter_of_other_weights_is_refused(tiny_policy: Path, tmp_path: Path) -> None:
    """Shapes alone would let it pass."""
    other = tmp_path / "other"
    other.mkdir()
    for path in tiny_policy.iterdir():
        (other / path.name).write_bytes(path.read_bytes())
    weights = other / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-4] + bytes(4))
    folder = save_adapter(tmp_path / "000001", 1, base_model_name_or_path=str(other))
    model = VisionLanguageModel(tiny_policy, LoadOptions(device="cpu"))
    with pytest.raises(UserError, match="whose weights are not those that are served"):
        model.adopt(folder)
    config = json.loads((folder / "adapter_config.json").read_text())
    (folder / "adapter_config.json").write_text(json.dumps({**config, "base_model_name_or_path": str(tiny_policy)}))
    model.adopt(folder)
    assert model.weights_version.startswith("000001@")
