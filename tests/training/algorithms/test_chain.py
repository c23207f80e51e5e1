"""A whole trajectory in one forward pass: each reply's log-probability, columns and prompt are its turn sample's."""

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest
import torch
from transformers import AutoModelForImageTextToText

from data.actions.screen import screen_text
from data.conversation import StepText, build_conversation
from data.samples.whole_trajectory import join_steps
from data.shards.columns import digest_of, write_columns
from data.shards.shard import Sample
from models.processor import load_processor
from models.registry import family
from models.tokens.encoding import ConversationEncoder, Reads
from tests import tiny
from tests.tiny import qwen3_vl
from tests.training.conftest import train
from toolkits.model_checkpoints_convertor.convert import Config, main
from training.algorithms.algorithm import Algorithm, Needs, Number
from training.batches.collate import Collator, Place, TokenizedSample
from training.batches.columns import ColumnJoin
from training.batches.cost import CostModel
from training.batches.dataset import tokenize_share
from training.samples.stored_sample import StoredSample

STEPS = 4
PICTURES = [tiny.picture(random.Random(n), *size) for n, size in enumerate([(64, 48), (96, 96), (40, 90), (64, 48)])]


class Weighed(Algorithm):
    """Reads a number of each step and what it was sampled with."""

    needs = Needs({"advantage": Number()}, ("behavior_logprobs",))
    token_losses = None


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return qwen3_vl.build_policy(tmp_path_factory.mktemp("policy"), layers=3)


def cost_model(folder: Path, loss: Reads = "answer", seq_len: int = 2048) -> CostModel:
    kind, hf, processor = family(folder), family(folder).read_config(folder), load_processor(folder)
    encoder = ConversationEncoder(processor, kind.image_encoder(processor, hf), seq_len, STEPS, loss)
    return CostModel(encoder, hf.text_config, kind.vision_side(hf), learns_vision=True, packing=True)


@pytest.fixture(scope="module")
def costs(folder: Path) -> CostModel:
    return cost_model(folder)


def turn_samples(tokenizer: Any, last_n: int = STEPS) -> list[dict[str, Any]]:
    """Of an agent at points, with the tokens that it sampled; the second reply was ended by its length."""
    rng, steps, samples = random.Random(0), [], []
    for number in range(1, STEPS + 1):
        said = f"Thought: {tiny.text(rng, 6).strip()}"
        shown = screen_text((f"0, in front: http://shop/{number}",))
        steps.append(StepText(shown, "Clicked <a>." if number > 1 else "", said))
        conversation = build_conversation("Find a shoe.", steps, last_n)
        senders = {"user": "human", "assistant": "gpt"}
        ids = tokenizer(said, add_special_tokens=False)["input_ids"] + (
            [] if number == 2 else [tokenizer.convert_tokens_to_ids("<|im_end|>")]
        )
        turns = [{"from": senders[turn.role], "value": turn.text} for turn in conversation.turns]
        fields = {"id": f"s--1--r01--step{number:02d}", "conversations": turns, "num_images": len(turns) // 2}
        logprobs = [-0.1 * number - 0.01 * place for place in range(len(ids))]
        samples.append({**fields, "token_ids": ids, "logprobs": logprobs, "advantage": float(number)})
    return samples


def tokenized(costs: CostModel, samples: list[dict[str, Any]], join: ColumnJoin | None = None) -> list[TokenizedSample]:
    """As a replica takes them."""
    stored = [StoredSample(fields, lambda: PICTURES) for fields in samples]
    for sample in stored:  # of a single step, its own images
        if "earlier_steps" not in sample.fields:
            object.__setattr__(sample, "find_images", lambda count=sample.fields["num_images"]: PICTURES[:count])
    return tokenize_share(costs, stored, 0, 1, join).samples


@pytest.fixture(scope="module")
def turns(costs: CostModel) -> list[dict[str, Any]]:
    return turn_samples(costs.encoder.tokenizer)


@torch.no_grad()
def logprobs_of_replies(folder: Path, costs: CostModel, sample: TokenizedSample) -> list[float]:
    """Sums over each reply's tokens, by Hugging Face's model in double precision."""
    model = AutoModelForImageTextToText.from_pretrained(folder).double()
    images = costs.encoder.image_encoder
    pixels = images.encode([picture.decode("x") for picture in sample.images])
    marks = (sample.ids == images.token_id).long()
    output = model(
        input_ids=sample.ids[None],
        pixel_values=pixels["pixel_values"].double(),
        image_grid_thw=pixels["grid"],
        mm_token_type_ids=marks[None],
    )
    found = output.logits[0, :-1].log_softmax(-1).gather(1, sample.ids[1:, None])[:, 0][sample.loss_mask[1:]]
    return [float(part.sum()) for part in found.split([count for count, _ in sample.steps])]


def test_each_replys_log_probability_is_that_of_its_turn_sample(
    folder: Path, costs: CostModel, turns: list[dict[str, Any]]
) -> None:
    [whole] = tokenized(costs, join_steps(turns))
    apart = tokenized(costs, turns)
    assert len(apart) == STEPS and len(whole.ids) == max(len(one.ids) for one in apart)
    expected = [found for one in apart for found in logprobs_of_replies(folder, costs, one)]
    assert logprobs_of_replies(folder, costs, whole) == pytest.approx(expected, abs=1e-5)
    assert len(expected) == STEPS


def test_columns_are_those_of_the_steps(costs: CostModel, turns: list[dict[str, Any]], tmp_path: Path) -> None:
    """In the samples, and in a file that was made for turn samples; token by token in the order of the labels."""
    advantages = [0.5, -1.0, 2.0, 0.25]
    rows = [
        {"id": one["id"], "digest": digest_of(one["conversations"]), "advantage": advantage}
        for one, advantage in zip(turns, advantages, strict=True)
    ]
    kinds = {"id": pyarrow.string(), "digest": pyarrow.string(), "advantage": pyarrow.float64()}
    write_columns(tmp_path / "a.parquet", [rows], pyarrow.schema(kinds), {})
    collator = Collator(Place(0, 1, 0, 1, False), costs.encoder.image_encoder, 1, 2048, packing=True)
    for paths, wanted in ([], [1.0, 2.0, 3.0, 4.0]), ([tmp_path / "a.parquet"], advantages):
        join = ColumnJoin(Weighed(), paths)
        [batch] = collator.collate(tokenized(costs, join_steps(turns), join))
        assert batch.columns.per_sample["advantage"].tolist() == pytest.approx(wanted)
        assert batch.columns.num_tokens.tolist() == [len(one["token_ids"]) for one in turns]
        labels = batch.labels[batch.labels >= 0].tolist()
        assert labels == [token for one in turns for token in one["token_ids"]]
        known = np.concatenate([one["logprobs"] for one in turns])
        assert batch.columns.per_token["behavior_logprobs"].numpy() == pytest.approx(known)


def test_what_does_not_go_on_begins_another_sequence(
    folder: Path, costs: CostModel, turns: list[dict[str, Any]]
) -> None:
    """Sampled tokens that the tokenizer would not make of their text, replies learned twice; a cut page goes on."""
    odd = [dict(one) for one in turns]
    space = costs.encoder.tokenizer("  ", add_special_tokens=False)["input_ids"]
    odd[1] = {**odd[1], "token_ids": odd[1]["token_ids"] + space, "logprobs": odd[1]["logprobs"] + [-1.0] * len(space)}
    apart = tokenized(costs, odd)
    assert apart[1].ids[-len(space) :].tolist() == space
    chains = tokenized(costs, join_steps(odd))
    assert [len(one.steps) for one in chains] == [2, 2]
    assert [one.ids.tolist() for one in chains] == [apart[1].ids.tolist(), apart[3].ids.tolist()]
    short = cost_model(folder, seq_len=len(apart[3].ids) - 5)
    [whole], cut = tokenized(short, join_steps(turns)), tokenized(short, turns)[-1]
    assert len(cut.ids) <= len(apart[3].ids) - 5 and whole.ids.equal(cut.ids)
    assert len(tokenized(cost_model(folder, "all_answers"), join_steps(turns))) == STEPS


@pytest.mark.slow
def test_a_step_of_training_is_the_same(folder: Path, turns: list[dict[str, Any]], tmp_path: Path) -> None:
    """Loss and gradient norm of train_qwen3_vl.sh, packed, on a whole trajectory and on its turn samples."""
    megatron, steps = tmp_path / "mg", []
    main(Config(direction="hf2mg", load_path=folder, save_path=megatron))
    for name, samples in {"whole": join_steps(turns), "turns": turns}.items():
        stored = [Sample(one["id"], one["conversations"], PICTURES[: one["num_images"]], one) for one in samples]
        shards = tiny.build_dataset(tmp_path / name, stored)
        options = {"tp": 1, "packing": "true", "batch_size": 1, "global_batch_size": len(samples), "image_num": STEPS}
        train("qwen3_vl", shards, megatron, tmp_path / f"{name}-out", train_iters=1, **options)
        line = (tmp_path / f"{name}-out" / "log" / "run" / "metrics.jsonl").read_text().splitlines()[0]
        steps.append(json.loads(line))
    whole, apart = steps
    assert whole["num_tokens"] < 0.5 * apart["num_tokens"]
    assert whole["loss"] == pytest.approx(apart["loss"], abs=1e-5)
    assert whole["grad_norm"] == pytest.approx(apart["grad_norm"], rel=1e-5)


def test_a_critic_reads_every_prompts_end(folder: Path, turns: list[dict[str, Any]]) -> None:
    states = cost_model(folder, "state")
    [whole], apart = tokenized(states, join_steps(turns)), tokenized(states, turns)
    assert whole.loss_mask.nonzero()[:, 0].tolist() == [len(one.ids) - 1 for one in apart]
    assert [count for count, _ in whole.steps] == [1] * STEPS
