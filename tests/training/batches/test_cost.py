"""Replicas have as much work as each other: language tokens, with attention's square, and patches, estimated."""

import random
from pathlib import Path

import pytest
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

from models.processor import load_processor
from models.registry import family
from models.tokens.encoding import ConversationEncoder
from tests import tiny
from tests.tiny import qwen3_vl
from training.batches.cost import CostModel
from training.batches.flops import language_flops
from training.memory.per_gpu import config_folder
from training.samples.pictures import read_picture
from training.samples.stored_sample import StoredSample

SIZES = [(1280, 1000), (1280, 720), (1024, 768), (400, 800)]
SAMPLES = 64


@pytest.fixture(scope="module")
def costs(tmp_path_factory: pytest.TempPathFactory) -> CostModel:
    """Of Qwen3-VL-4B's numbers and published image sizes, with a tiny policy's tokens."""
    shape = config_folder(Path("qwen3-vl-4b"))
    kind, hf = family(shape), family(shape).read_config(shape)
    processor = load_processor(qwen3_vl.build_policy(tmp_path_factory.mktemp("policy")))
    size = {"shortest_edge": 65536, "longest_edge": 16777216}
    processor.image_processor = Qwen2VLImageProcessorPil(patch_size=16, merge_size=2, size=size)
    encoder = ConversationEncoder(processor, kind.image_encoder(processor, hf), 16384, 3, "answer")
    return CostModel(encoder, hf.text_config, kind.vision_side(hf), learns_vision=True, packing=True)


def mixed_samples(seed: int) -> list[StoredSample]:
    """Text alone to three screenshots of several sizes, short and long trees."""
    rng, pictures = random.Random(seed), [tiny.picture(random.Random(0), *size) for size in SIZES]
    samples = []
    for index in range(SAMPLES):
        num_images, words = rng.randrange(4), rng.choice([20, 200, 1500])
        marks = "<image>" * num_images
        turns = [
            {"from": "human", "value": f"Find it.\nOBSERVATION:\n{marks}\n{tiny.text(rng, words)}"},
            {"from": "gpt", "value": f"Thought: {tiny.text(rng, rng.choice([5, 60]))}"},
        ]
        images = [rng.choice(pictures) for _ in range(num_images)]
        samples.append(StoredSample({"id": f"s--{index}", "conversations": turns}, lambda images=images: images))
    return samples


def real_cost(costs: CostModel, sample: StoredSample) -> float:
    """Of the tokens that training reads."""
    sizes = [read_picture(sample.id, image).size for image in sample.find_images()]
    tokens = costs.encoder.encode(sample.id, sample.fields["conversations"], sizes)
    vision = sum(costs.vision.image_flops(costs.encoder.image_encoder, *size) for size in sizes)
    read = len(tokens.ids) - int(tokens.loss_mask[1:].nonzero()[0])
    return language_flops(costs.text, [len(tokens.ids)], [read], int(tokens.loss_mask.sum())) + 3 * vision


def test_positions_that_nobody_reads_cost_the_last_layer_their_keys_and_values_alone(costs: CostModel) -> None:
    text = costs.text
    size, hidden = text.head_dim, text.hidden_size
    of_each = 2 * hidden * size * text.num_attention_heads + 3 * hidden * text.intermediate_size
    pairs = sum(range(1, 8))  # the first seven positions see themselves and those before
    unread = 3 * (2 * of_each * 7 + 4 * text.num_attention_heads * size * pairs)
    assert language_flops(text, [10], [10], 2) - language_flops(text, [10], [3], 2) == pytest.approx(unread)


def test_replicas_have_as_much_work_on_mixed_samples(costs: CostModel) -> None:
    batch = mixed_samples(seed=2)
    real = {sample.id: real_cost(costs, sample) for sample in batch}
    assert max(real.values()) > 20 * min(real.values())
    for num_replicas in (2, 4, 8):
        shares = [costs.share(batch, replica, num_replicas) for replica in range(num_replicas)]
        assert sorted(sample.id for share in shares for sample in share) == sorted(real)
        work = [sum(real[sample.id] for sample in share) for share in shares]
        assert max(work) * num_replicas / sum(work) < 1.05
