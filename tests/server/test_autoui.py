"""Auto-UI from folders in its released layout: what it says is what DigiRL's own code would have it say."""

import base64
import io
import json
import subprocess
from pathlib import Path

import pytest
import torch
from PIL import Image
from safetensors.torch import save_file
from starlette.testclient import TestClient
from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers
from torch import nn
from transformers import (
    Blip2VisionConfig,
    Blip2VisionModel,
    PreTrainedTokenizerFast,
    T5Config,
    T5ForConditionalGeneration,
)
from transformers.models.blip.image_processing_blip import BlipImageProcessor

from common.errors import UserError
from data.trajectory import read_trajectory
from server.autoui.model import AutoUI
from server.autoui.protocol import create_app

HIDDEN, PICTURE = 32, 24
PROMPT = "Previous Actions: Goal: Open the clock"


def write_policy(folder: Path, is_pickled: bool) -> None:
    """A T5 with random weights and Auto-UI's layers, as one file."""
    torch.manual_seed(1)
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    special = ["<pad>", "</s>", "<unk>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    tokenizer.train_from_iterator([PROMPT], trainers.BpeTrainer(special_tokens=special, initial_alphabet=alphabet))
    tokenizer.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    names = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names).save_pretrained(folder)
    config = T5Config(
        vocab_size=tokenizer.get_vocab_size(),
        d_model=HIDDEN,
        d_kv=8,
        d_ff=64,
        num_heads=4,
        num_layers=2,
        feed_forward_proj="gated-gelu",
        tie_word_embeddings=False,
        decoder_start_token_id=0,
    )
    config.save_pretrained(folder)
    layers = {
        "image_dense": nn.Linear(PICTURE, HIDDEN),
        "mha_layer": nn.MultiheadAttention(HIDDEN, 1, batch_first=True),
        "gate_dense": nn.Linear(2 * HIDDEN, HIDDEN),
    }
    tensors = T5ForConditionalGeneration(config).state_dict()
    for name, layer in layers.items():
        tensors |= {f"{name}.{field}": 3 * tensor for field, tensor in layer.state_dict().items()}
    tensors = {name: tensor.clone() for name, tensor in tensors.items()}
    if is_pickled:
        torch.save(tensors, folder / "pytorch_model.bin")
    else:
        save_file(tensors, folder / "model.safetensors", {"format": "pt"})


@pytest.fixture(scope="module")
def vision(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small BLIP-2, of whose language model nothing is read."""
    folder = tmp_path_factory.mktemp("vision")
    torch.manual_seed(2)
    sizes = {"hidden_size": PICTURE, "intermediate_size": 48, "image_size": 28, "patch_size": 14}
    config = Blip2VisionConfig(**sizes, num_hidden_layers=2, num_attention_heads=2, initializer_range=0.5)
    (folder / "config.json").write_text(json.dumps({"model_type": "blip-2", "vision_config": config.to_dict()}))
    held = Blip2VisionModel(config).state_dict()
    tensors = {f"vision_model.{name}": tensor.clone() for name, tensor in held.items()}
    save_file({**tensors, "language_model.weight": torch.zeros(2)}, folder / "model.safetensors", {"format": "pt"})
    BlipImageProcessor(size={"height": 28, "width": 28}).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module", params=[False, True], ids=["safetensors", "bin"])
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, vision: Path) -> AutoUI:
    folder = tmp_path_factory.mktemp("policy")
    write_policy(folder, request.param)
    return AutoUI(folder, vision, torch.device("cpu"))


def png(color: str) -> str:
    file = io.BytesIO()
    Image.new("RGB", (412, 915), color).save(file, "PNG")
    return base64.b64encode(file.getvalue()).decode()


@torch.no_grad()
def mixed(model: AutoUI, color: str) -> torch.Tensor:
    """The encoder's states with the picture, as DigiRL's `T5ForMultimodalGeneration` has them. Of one picture an
    attention is its value alone."""
    ids = model.tokenizer(f"{PROMPT}</s>", return_tensors="pt")["input_ids"]
    states = model.t5.encoder(input_ids=ids).last_hidden_state
    seen = model.gate.image_dense(model.picture(Image.new("RGB", (412, 915), color)))
    attention = model.gate.mha_layer
    value = nn.functional.linear(seen, attention.in_proj_weight[-HIDDEN:], attention.in_proj_bias[-HIDDEN:])
    attended = attention.out_proj(value).expand_as(states)
    gate = torch.sigmoid(model.gate.gate_dense(torch.cat([states, attended], dim=-1)))
    return (1 - gate) * states + gate * attended


@torch.no_grad()
def said_by_reference(model: AutoUI, states: torch.Tensor, seed: int, num_tokens: int) -> str:
    """Token by token, without a cache."""
    torch.manual_seed(seed)
    said = [0]
    while len(said) <= num_tokens and said[-1] != 1:
        hidden = model.t5.decoder(input_ids=torch.tensor([said]), encoder_hidden_states=states).last_hidden_state
        chances = torch.softmax(model.t5.lm_head(hidden)[0, -1], dim=-1)
        said.append(int(torch.multinomial(chances, 1)))
    return model.tokenizer.decode(said, skip_special_tokens=True).strip()


def test_it_says_what_digirls_code_would_say(model: AutoUI) -> None:
    with TestClient(create_app(model, "Auto-UI", 1.0, 12)) as client:
        for seed, color in enumerate(("red", "white", "black"), start=1):
            turns = [{"role": "user", "content": f"<image>\n{PROMPT}"}]
            body = {"conversations": turns, "images": [png(color)], "seed": seed}
            told = client.post("/predict", json=body).json()
            assert told["text"] == said_by_reference(model, mixed(model, color), seed, 12)
            assert told["completion_tokens"] <= 12 and told["weights_version"] == "Auto-UI"
        greedy = [client.post("/predict", json={**body, "temperature": 0, "seed": n}).json()["text"] for n in (1, 2)]
        assert greedy[0] == greedy[1]
        assert client.get("/health").json()["status"] == "ok"
    assert not torch.allclose(mixed(model, "red"), mixed(model, "white"))  # it looks


@pytest.mark.slow
def test_the_collector_asks_it_as_the_page_on_phones_says(spawn, vision: Path, tmp_path: Path) -> None:
    write_policy(tmp_path / "policy", is_pickled=False)
    words = ("-m", "server.autoui", "--policy", tmp_path / "policy", "--vision", vision, "--port", 0)
    server = spawn(*words, "--max_new_tokens", 12, stdout=subprocess.PIPE)
    url = server.stdout.readline().split(" on ")[1].strip()
    words = ("collection/run.py", "--env", "touch", "--env_tasks", "clock-switch", "--action_space", "autoui")
    run = spawn(*words, "--headless", "--max_iter", 2, "--api_localhost", f"{url}/predict", "--output_dir", tmp_path)
    assert run.wait(120) == 0
    trajectory = read_trajectory(tmp_path / "tasktouch.clock-switch--0")
    assert [bool(step.reply) for step in trajectory.steps] == [True, True]  # random weights say something
    server.terminate()
    assert server.wait(20) == 0


def test_what_it_cannot_read_is_refused_in_a_line(model: AutoUI, vision: Path, tmp_path: Path) -> None:
    with TestClient(create_app(model, "Auto-UI", 1.0, 12)) as client:
        turn = {"role": "user", "content": f"<image>\n{PROMPT}"}
        for turns, images in (([turn, turn], [png("red")]), ([turn], [png("red")] * 2), ([turn], ["no picture"])):
            answer = client.post("/predict", json={"conversations": turns, "images": images})
            assert answer.status_code == 400 and "\n" not in answer.json()["error"]["message"]
    write_policy(tmp_path, is_pickled=True)
    weights = tmp_path / "pytorch_model.bin"
    kept = {name: one for name, one in torch.load(weights, weights_only=True).items() if "image_dense" not in name}
    torch.save(kept, weights)
    with pytest.raises(UserError, match="without Auto-UI's layers"):
        AutoUI(tmp_path, vision, torch.device("cpu"))
    with pytest.raises(UserError, match="is no BLIP-2"):
        write_policy(tmp_path, is_pickled=True)
        AutoUI(tmp_path, tmp_path, torch.device("cpu"))
