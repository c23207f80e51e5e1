"""train_llava.sh and train_llava_next.sh as a user runs them: Hugging Face -> Megatron -> training -> Hugging Face.

Every step has the same samples, so that a plain PyTorch loop over Hugging Face's model must lose the same. That loop
finds its tokens and replies by itself: a reply is what the processor makes of the conversation behind its prompt.
"""

import base64
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.nn import functional

from data.conversation import split_marks
from data.shards.shard import Sample
from models.processor import load_processor
from models.registry import family
from server.engine.engine import Engine, EngineConfig
from server.engine.model.prompt import build_prompt
from server.engine.model.vision_language_model import LoadOptions, VisionLanguageModel
from server.engine.model.wire_images import from_predict
from server.engine.sampling import SamplingParams
from tests import tiny
from tests.conftest import ROOT
from tests.tiny import llava, qwen3_vl
from tests.training.conftest import converted, train

STEPS, LR = 4, 1e-3
SAMPLES = [tiny.sample(index, num_steps=1 + index % 3, with_images=index != 3) for index in range(6)]
ROLES = {"human": "user", "gpt": "assistant"}


class PlainLoop:
    """Hugging Face's model and Adam; each step the mean over all samples."""

    def __init__(self, folder: Path, samples: Sequence[Sample] = SAMPLES) -> None:
        self.processor = load_processor(folder)
        self.model = family(folder).auto_model().from_pretrained(folder)
        self.examples = [self._example(sample) for sample in samples]

    def _example(self, sample: Sample) -> tuple[dict[str, Any], int]:
        """(what the model takes, tokens before the last reply)."""
        pictures = [tiny.open_picture(image) for image in sample.images]
        messages = [
            {"role": ROLES[turn["from"]], "content": split_marks(turn["value"])} for turn in sample.conversations
        ]

        def inputs(text: str) -> dict[str, Any]:
            return dict(self.processor(text=text, images=pictures or None, return_tensors="pt"))

        whole = inputs(self.processor.apply_chat_template(messages).rstrip())
        asked = self.processor.apply_chat_template(messages[:-1], add_generation_prompt=True).rstrip(" ")
        prompt = inputs(asked)["input_ids"][0]  # the space before a reply is the reply's
        assert whole["input_ids"][0, : len(prompt)].equal(prompt)
        return whole, len(prompt)

    def loss(self, inputs: dict[str, Any], num_prompt: int) -> torch.Tensor:
        logits = self.model(**inputs).logits[0, num_prompt - 1 : -1]
        return functional.cross_entropy(logits, inputs["input_ids"][0, num_prompt:]) / len(self.examples)

    def train(self) -> list[float]:
        optimizer = torch.optim.Adam(self.model.parameters(), lr=LR)
        losses = []
        for _ in range(STEPS):
            optimizer.zero_grad()
            total = 0.0
            for example in self.examples:
                loss = self.loss(*example)
                loss.backward()
                total += loss.item()
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            optimizer.step()
            losses.append(total)
        return losses

    @torch.no_grad()
    def evaluate(self) -> float:
        return sum(self.loss(*example).item() for example in self.examples)


def serve(folder: Path) -> None:
    """The server's engine says what Hugging Face's `generate` says."""
    model = VisionLanguageModel(folder, LoadOptions(device="cpu"))
    sample = SAMPLES[0]
    messages = [{"role": "user", "content": split_marks(sample.conversations[0]["value"])}]
    picture = tiny.open_picture(sample.images[0])
    text = model.processor.apply_chat_template(messages, add_generation_prompt=True)
    inputs = model.processor(text=text, images=[picture], return_tensors="pt")
    expected = model.hf_model.generate(**inputs, do_sample=False, max_new_tokens=8, eos_token_id=model.eos_ids)
    engine = Engine(model, EngineConfig(max_batch_size=2, max_queue=8))
    prompt = build_prompt(messages, from_predict([base64.b64encode(sample.images[0]).decode()]), model, engine.cache)
    reply = engine.submit(prompt, SamplingParams(temperature=0, max_new_tokens=8)).result(60)
    engine.stop()
    assert reply.token_ids == expected[0, inputs["input_ids"].size(1) :].tolist()


@pytest.mark.parametrize(
    ("model", "options"),
    [
        pytest.param("llava", {"freeze_vision": "false"}, marks=pytest.mark.slow),
        pytest.param("llava", {}, marks=pytest.mark.slow),  # as published: the vision tower is frozen
        pytest.param("llava_next", {"packing": "true", "batch_size": 1}, marks=pytest.mark.slow),
        pytest.param("llava_next", {"tp": 1, "pp": 2}, marks=pytest.mark.slow),
    ],
)
def test_training_is_a_plain_loop_over_hugging_faces_model(
    tmp_path: Path, model: str, options: dict[str, object]
) -> None:
    hf = llava.build_policy(tmp_path / "hf", is_next=model == "llava_next")
    megatron = converted("hf2mg", hf, tmp_path / "megatron")
    losses = train(
        *(model, tiny.build_dataset(tmp_path / "shards", SAMPLES), megatron, tmp_path),
        **{"global_batch_size": 6, "train_iters": STEPS, "lr": LR, "lr_schedule": "constant", "lr_warmup_iters": 0},
        **options,
    )
    plain = PlainLoop(hf)
    frozen = model == "llava" and not options
    plain.model.model.vision_tower.requires_grad_(not frozen)
    assert losses == pytest.approx(plain.train(), abs=1e-4)
    assert losses[-1] < losses[0] - 0.5

    exported = converted("mg2hf", tmp_path / "checkpoint" / "run", tmp_path / "trained")
    trained = PlainLoop(exported)
    assert trained.evaluate() == pytest.approx(plain.evaluate(), abs=1e-4)
    before, after = (side.state_dict() for side in (PlainLoop(hf).model, trained.model))
    assert before.keys() == after.keys()
    unchanged = [name for name in before if before[name].equal(after[name])]
    assert all("vision_tower" in name for name in unchanged)
    assert frozen == ("model.vision_tower.encoder.layers.0.mlp.fc1.weight" in unchanged)
    serve(exported)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_qwen3_vl_trains_as_a_plain_loop_too(tmp_path: Path) -> None:
    """With its published values: the tower is frozen, its mergers are not."""
    hf = qwen3_vl.build_policy(tmp_path / "hf", layers=3)
    megatron = converted("hf2mg", hf, tmp_path / "megatron")
    losses = train(
        *("qwen3_vl", tiny.build_dataset(tmp_path / "shards", SAMPLES), megatron, tmp_path),
        **{"global_batch_size": 6, "train_iters": STEPS, "lr": LR, "lr_schedule": "constant", "lr_warmup_iters": 0},
    )
    plain = PlainLoop(hf)
    for name, parameter in plain.model.model.visual.named_parameters():
        parameter.requires_grad_("merger" in name)
    assert losses == pytest.approx(plain.train(), abs=1e-4)
    exported = converted("mg2hf", tmp_path / "checkpoint" / "run", tmp_path / "trained")
    assert PlainLoop(exported).evaluate() == pytest.approx(plain.evaluate(), abs=1e-4)
    serve(exported)


def test_another_family_is_refused_before_any_rank_starts(policy: Path, megatron: Path, shards: Path) -> None:
    command = ["bash", str(ROOT / "training" / "train_llava.sh"), "--dataset_path", str(shards)]
    command += ["--pretrain_checkpoint_path", str(megatron)]
    done = subprocess.run(command, env=tiny.environment(), capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert done.stderr == f"error: {megatron}: this is idefics2, not llava; see training/train_idefics2.sh\n"
