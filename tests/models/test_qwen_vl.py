"""A Qwen-VL's positions, sizes and weights are Hugging Face's; a mark that a policy samples is a token like others."""

import importlib
import json
import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from PIL import Image
from transformers import AutoModelForImageTextToText
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

from common.errors import UserError
from common.files import read_json
from models.checkpoint.weight_tensors import open_weights
from models.image_settings import ImageSettings
from models.images import ImageEncoder
from models.processor import describe, load_processor
from models.registry import family
from tests.tiny import qwen2_5_vl, qwen3_vl
from tests.toolkits.checkpoints import convert
from training.batches.collate import Collator, Place, TokenizedSample
from training.layout import Layout
from training.loop.vision_meter import VisionMeter
from training.memory.per_gpu import config_folder, count_parameters
from training.modules.language.form import check_layout
from training.modules.language.rotary import MultimodalRotary
from training.samples.pictures import Picture

MAKERS = {"qwen3_vl": qwen3_vl.build_policy, "qwen2_5_vl": qwen2_5_vl.build_policy}


@pytest.fixture(scope="module", params=MAKERS)
def policy(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return MAKERS[request.param](tmp_path_factory.mktemp("policy"))


@pytest.fixture(scope="module")
def processor(policy: Path) -> Any:
    return load_processor(policy)


@pytest.fixture(scope="module")
def encoder(policy: Path, processor: Any) -> ImageEncoder:
    return family(policy).image_encoder(processor, family(policy).read_config(policy))


def test_tokens_positions_and_patches_are_hugging_faces(policy: Path, processor: Any, encoder: ImageEncoder) -> None:
    """No image to three of odd sizes, also below the least and above the most pixels."""
    hf = AutoModelForImageTextToText.from_pretrained(policy).model
    rng = random.Random(0)
    for number in range(16):
        sizes = [(rng.randrange(8, 200), rng.randrange(8, 200)) for _ in range(number % 4)]
        images = [Image.new("RGB", (width, height)) for height, width in sizes]
        text = "buy " + "".join(f"one {encoder.mark} or two" for _ in sizes) + " shoes"
        inputs = processor(text=text, images=images or None, return_tensors="pt")
        ids = inputs["input_ids"][0]
        assert processor.tokenizer(encoder.expand(text, sizes))["input_ids"] == ids.tolist()
        found = encoder.position_ids(ids, sizes)
        if not sizes:
            assert found.equal(torch.arange(len(ids)).expand(3, -1))
            continue
        grids = inputs["image_grid_thw"]
        assert found.equal(hf.get_rope_index(inputs["input_ids"], inputs["mm_token_type_ids"], grids)[0][:, 0])
        encoded = encoder.encode(images)
        assert encoded["pixel_values"].equal(inputs["pixel_values"]) and encoded["grid"].equal(grids)


@pytest.mark.parametrize(
    ("width", "height", "num_tokens"), [(1280, 1000, 1240), (1280, 768, 960), (1280, 720, 880), (160, 210, 70)]
)
def test_screenshots_have_as_many_tokens_as_with_the_published_processor(
    width: int, height: int, num_tokens: int
) -> None:
    shape = config_folder(Path("qwen3-vl-4b"))
    size = {"shortest_edge": 65536, "longest_edge": 16777216}
    published = SimpleNamespace(image_processor=Qwen2VLImageProcessorPil(patch_size=16, merge_size=2, size=size))
    images = family(shape)._file("images").ImageEncoder(published, family(shape).read_config(shape))
    assert images.num_tokens(height, width) == num_tokens


def test_an_image_that_is_too_long_is_one_line(encoder: ImageEncoder) -> None:
    with pytest.raises(UserError, match="an image of 2010x10 is more than 200 times as long as it is wide"):
        encoder.num_tokens(10, 2010)


def test_sizes_are_pixels_not_edges(policy: Path, processor: Any) -> None:
    assert describe(policy, processor) == "1024 to 6144 pixels"
    with pytest.raises(UserError, match="numbers of pixels, not edges"):
        load_processor(policy, ImageSettings(image_size=980))


def test_a_sampled_mark_is_a_token_like_others(encoder: ImageEncoder) -> None:
    """Behind the prompt, in the first of two rows: the features stay at the images, positions count on."""
    mark, size = encoder.token_id, (32, 48)
    prompt = torch.tensor([5, 6, *[mark] * encoder.num_tokens(*size), 7])
    ids = torch.cat([prompt, torch.tensor([8, mark, mark, 9])])
    picture = Picture(b"", *size)
    samples = [TokenizedSample(str(n), one, torch.ones(len(one)) > 0, [picture]) for n, one in enumerate((ids, prompt))]
    [batch] = Collator(Place(0, 1, 0, 1, False), encoder, batch_size=2, seq_len=32).collate(samples)
    for row, key in enumerate(batch.keys):
        own = samples[int(key)].ids
        assert batch.is_feature[row].nonzero()[:, 0].tolist() == list(range(2, 2 + encoder.num_tokens(*size)))
        assert batch.position_ids[:, row, : len(prompt)].equal(encoder.position_ids(prompt, [size]))
        behind = batch.position_ids[:, row, len(prompt) - 1 : len(own)]
        assert behind.equal(behind[:, :1] + torch.arange(behind.size(1)))


@pytest.mark.parametrize(("name", "tied"), [("qwen3_vl", True), ("qwen3_vl", False), ("qwen2_5_vl", False)])
def test_a_round_trip_is_exact_and_both_sides_agree(tmp_path: Path, name: str, tied: bool) -> None:
    hf = MAKERS[name](tmp_path / "hf", layers=3, tied=tied)
    convert("hf2mg", hf, tmp_path / "mg", verify=True)
    convert("mg2hf", tmp_path / "mg", tmp_path / "back")
    before, after = open_weights(hf), open_weights(tmp_path / "back")
    assert ("lm_head.weight" in before) != tied
    assert before.keys() == after.keys() and all(before[name].read().equal(after[name].read()) for name in before)


def test_angles_are_hugging_faces(policy: Path) -> None:
    kind = family(policy)
    text = kind.read_config(policy).text_config
    positions = torch.randint(50, (3, 2, 9))
    rope = text.rope_parameters
    own = MultimodalRotary(text.head_dim, rope["rope_theta"], rope["mrope_section"], kind.mrope)(positions)
    hf = AutoModelForImageTextToText.from_pretrained(policy).model.language_model
    cosine, sine = hf.rotary_emb(torch.zeros(1), positions)
    assert own.cos()[:, :, 0].transpose(0, 1).allclose(cosine) and own.sin()[:, :, 0].transpose(0, 1).allclose(sine)


# Billions of parameters: language model without embeddings, embeddings, tower and mergers
SIZES = {"2b": (1.41, 0.31, 0.41), "4b": (3.63, 0.39, 0.42), "8b": (6.95, 1.24, 0.58)}


@pytest.mark.parametrize("name", SIZES)
def test_the_dry_run_counts_published_models(name: str) -> None:
    folder = config_folder(Path(f"qwen3-vl-{name}"))
    hf = family(folder).read_config(folder)
    [count] = count_parameters(hf, Layout())
    body, embeddings, vision = SIZES[name]
    assert count.language / 1e9 == pytest.approx(body + embeddings, abs=0.02)
    assert (count.vision + count.connector) / 1e9 == pytest.approx(vision, abs=0.02)


@pytest.mark.parametrize("taps", [[0, 0, 1], [-1], [27]])
def test_inner_layers_that_the_tower_has_not_are_refused(tmp_path: Path, taps: list[int]) -> None:
    """Hugging Face reads a layer that is named twice once, and has a merger more than features."""
    fields = read_json(config_folder(Path("qwen3-vl-4b")) / "config.json")
    fields["vision_config"]["deepstack_visual_indexes"] = taps
    (tmp_path / "config.json").write_text(json.dumps(fields))
    with pytest.raises(UserError, match="do not fit the layers"):
        family(tmp_path).read_config(tmp_path)


def test_the_first_stage_needs_a_layer_for_each_inner_layer_of_the_tower() -> None:
    hf = family(config_folder(Path("qwen3-vl-4b"))).read_config(config_folder(Path("qwen3-vl-4b")))
    check_layout(hf, Layout(pipeline_parallel=4, first_stage_layers=3))
    for layout, message in (
        (
            Layout(pipeline_parallel=3, first_stage_layers=2),
            "the first stage of the pipeline has 2 layers, but the first 3",
        ),
        (
            Layout(pipeline_parallel=2, virtual_pipeline=9),
            "the first chunk of the pipeline has 2 layers, but the first 3",
        ),
        (Layout(tensor_parallel=16), "TP=16 does not divide the model's 8 key/value heads"),
    ):
        with pytest.raises(UserError, match=message):
            check_layout(hf, layout)


@pytest.mark.parametrize("frozen", [True, False])
def test_flops_are_counted_by_the_published_rule(tmp_path: Path, frozen: bool) -> None:
    """Megatron-Bridge's, docs of `models/qwen3_vl/vision.py`; a frozen tower has no backward pass, its mergers have."""
    from training.modules.qwen3_vl.model import Mergers, Tower

    policy = qwen3_vl.build_policy(tmp_path)
    hf = family(policy).read_config(policy)
    tower = Tower(hf.vision_config)
    mergers = Mergers(tower)
    tower.requires_grad_(not frozen)
    meter = VisionMeter([tower, mergers], family(policy).vision_side(hf))
    grid = torch.tensor([[1, 6, 8], [1, 4, 4]])
    mergers(tower(pixel_values=torch.zeros(64, 3 * 2 * 64), grid=grid))
    vision, merged = hf.vision_config, 4 * hf.vision_config.hidden_size
    linear = (8 * vision.hidden_size**2 + 4 * vision.hidden_size * vision.intermediate_size) * 64
    blocks = vision.depth * (linear + 4 * vision.hidden_size * (48**2 + 16**2))
    merging = (1 + 3) * 16 * (2 * merged**2 + 2 * merged * vision.out_hidden_size)
    assert meter.flops == (1 if frozen else 3) * blocks + 3 * merging


@pytest.mark.parametrize("name", MAKERS)
def test_an_image_costs_what_is_counted_where_it_runs(tmp_path: Path, name: str) -> None:
    """In the tower's layers; Qwen2.5-VL's windows and gates, too."""
    parts = importlib.import_module(f"training.modules.{name}.model")
    policy = MAKERS[name](tmp_path)
    kind, hf = family(policy), family(policy).read_config(policy)
    images, side, tower = (
        kind.image_encoder(load_processor(policy), hf),
        kind.vision_side(hf),
        parts.Tower(hf.vision_config),
    )
    getattr(parts, "Mergers" if name == "qwen3_vl" else "Merger")(tower)  # out of the tower
    meter, pictures = VisionMeter([tower], side), [Image.new("RGB", size) for size in ((64, 96), (90, 40))]
    tower(**images.encode(pictures))
    assert meter.flops == 3 * sum(side.image_flops(images, one.height, one.width) for one in pictures)
