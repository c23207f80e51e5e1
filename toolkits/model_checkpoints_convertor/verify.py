"""Both sides of a conversion as models, on one prompt, with images where they read any: do they say the same?

A `torch_dist` checkpoint is loaded by Megatron as training does it, a Hugging Face folder by `from_pretrained`; both in
fp32, one after the other. A legacy checkpoint, which needs a Megatron of its own, is put into Hugging Face's model.
"""

import random
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import torch
from PIL import Image, ImageDraw
from safetensors.torch import load_file, save_file

from common.defaults import ROOT
from common.errors import UserError
from common.files import write_json
from data.conversation import IMAGE
from models.processor import load_processor
from models.weight_table import find_spelling
from toolkits.model_checkpoints_convertor.sources import HfSource, Source, TorchDistSource

_TOLERANCE = 1e-3
"""Of the largest logit. Two orders of summation differ by 1e-6 in fp32; a wrong weight by more than 1e-1."""
_TEXT = "Now given a task: find the cheapest lamp.\nOBSERVATION:\n<image>\n[1] searchbox 'Search' [2] link 'Lamps'\n"


def verify(source: Source, written: Source, dtype: torch.dtype | None) -> str:
    """One line that says how well they agree; `source`'s weights are rounded to `dtype` first.

    Raises:
        UserError: they don't.
    """
    warnings.simplefilter("ignore")  # about kernels that are not there
    processor = load_processor(written.hf_files)  # whose images may be others than the source's: hf2mg writes them
    mark = source.family.image_encoder(processor, source.config).mark if source.family.reads_images else None
    inputs, images = _prompt(processor, mark)
    expected, found = (_logits(side, dtype, written.hf_files, inputs, images) for side in (source, written))
    difference, largest = (expected - found).abs().max().item(), expected.abs().max().item()
    tokens = f"{inputs['input_ids'].size(1)} tokens with {len(images)} images"
    if not difference <= _TOLERANCE * max(1.0, largest):
        raise UserError(f"verify: logits of {tokens} differ by {difference:.2e} (largest {largest:.2f}); not written")
    return f"verify: logits of {tokens} agree to {difference:.1e} (largest {largest:.2f})"


def _prompt(processor: Any, mark: str | None) -> tuple[dict[str, torch.Tensor], list[Image.Image]]:
    """Two screenshots of different sizes and what stands on them; the text alone where images have no `mark`."""
    if mark is None:
        return dict(processor(text=_TEXT.replace(IMAGE, "") * 2, return_tensors="pt")), []
    images = [_screenshot(seed, size) for seed, size in enumerate(((512, 384), (300, 420)))]
    inputs = processor(text=_TEXT.replace(IMAGE, mark) * len(images), images=images, return_tensors="pt")
    return dict(inputs), images


def _screenshot(seed: int, size: tuple[int, int]) -> Image.Image:
    rng, image = random.Random(seed), Image.new("RGB", size, "white")
    draw = ImageDraw.Draw(image)
    for number in range(12):
        x, y = rng.randrange(size[0] - 60), rng.randrange(size[1] - 30)
        draw.rectangle((x, y, x + 60, y + 30), fill=tuple(rng.randrange(256) for _ in range(3)))
        draw.text((x + 5, y + 8), f"Lamp {number}", fill="black")
    return image


def _logits(
    source: Source,
    dtype: torch.dtype | None,
    prepared: Path,
    inputs: dict[str, torch.Tensor],
    images: list[Image.Image],
) -> torch.Tensor:
    """[tokens, vocabulary] in fp32."""
    with torch.no_grad():
        if isinstance(source, TorchDistSource):
            return _megatron_logits(source, dtype, prepared, inputs, images)
        model = _hf_model(source, dtype).eval()
        return model(**inputs).logits[0].float()


def _hf_model(source: Source, dtype: torch.dtype | None) -> torch.nn.Module:
    auto_model = source.family.auto_model()
    if isinstance(source, HfSource):
        return auto_model.from_pretrained(source.hf_files, dtype=dtype or "auto").float()
    model = auto_model.from_config(source.config, dtype=torch.float32)
    parameters = model.state_dict()
    for weight in source.family.weight_table(source.config):
        for name in weight.hf:
            tensor = source.read(name)
            spelling = find_spelling(name, source.family.spellings, parameters)
            assert spelling is not None, name
            parameters[spelling].copy_(tensor.to(dtype or tensor.dtype))
    return model


def _megatron_logits(
    source: TorchDistSource,
    dtype: torch.dtype | None,
    prepared: Path,
    inputs: dict[str, torch.Tensor],
    images: list[Image.Image],
) -> torch.Tensor:
    """By training's own command, in a process of its own; `prepared`: the folder whose processor prepares images."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        asked = {"weights": str(source.weights), "hf_files": str(source.hf_files), "prepared": str(prepared)}
        write_json(folder / "asked.json", {**asked, "dtype": dtype and str(dtype).removeprefix("torch.")})
        save_file({"input_ids": inputs["input_ids"]}, folder / "prompt.safetensors")
        for number, image in enumerate(images):
            image.save(folder / f"{number}.png")
        done = subprocess.run(
            [sys.executable, "-m", "training.logits", name], cwd=ROOT, capture_output=True, text=True, errors="replace"
        )
        if done.returncode:
            line = (done.stderr.strip().splitlines() or ["it ended without a word"])[-1]
            raise UserError(f"verify: Megatron's side of {source.weights} could not be computed: {line}")
        return load_file(folder / "logits.safetensors")["logits"]
