"""Idefics3's tiles: how many an image has, and the text that stands for them, are Hugging Face's for every size."""

import random
from pathlib import Path

import pytest
from PIL import Image

from models.checkpoint.weight_tensors import open_weights
from models.processor import load_processor
from models.registry import family
from tests.tiny import idefics3
from tests.toolkits.checkpoints import convert


@pytest.fixture(scope="module", params=["idefics3", "smolvlm"])
def policy(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return idefics3.build_policy(tmp_path_factory.mktemp("policy"), request.param)


@pytest.mark.parametrize(("longest", "splits"), [(64, True), (61, True), (96, True), (64, False)])
def test_tiles_and_text_are_hugging_faces(policy: Path, longest: int, splits: bool) -> None:
    """Also where the longest edge is no multiple of a tile, and where an image is a square."""
    processor = load_processor(policy)
    images = processor.image_processor
    images.size, images.do_image_splitting = type(images.size)(longest_edge=longest), splits
    encoder = family(policy).image_encoder(processor, family(policy).read_config(policy))
    rng = random.Random(longest)
    for height, width in [(48, 48), *((rng.randrange(8, 300), rng.randrange(8, 300)) for _ in range(20))]:
        image = Image.new("RGB", (width, height))
        assert encoder.encode([image])["pixel_values"].shape[0] == encoder.num_units(height, width)
        expected = processor(text="see <image> here", images=[image])["input_ids"][0]
        assert processor.tokenizer(encoder.expand("see <image> here", [(height, width)]))["input_ids"] == expected
        assert expected.count(encoder.token_id) == encoder.num_tokens(height, width)


def test_a_round_trip_is_exact_and_both_sides_agree(policy: Path, tmp_path: Path) -> None:
    convert("hf2mg", policy, tmp_path / "mg", verify=True)
    convert("mg2hf", tmp_path / "mg", tmp_path / "hf")
    before, after = open_weights(policy), open_weights(tmp_path / "hf")
    assert before.keys() == after.keys() and all(before[name].read().equal(after[name].read()) for name in before)
