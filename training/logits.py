"""The logits of one prompt by a `torch_dist` checkpoint, as training computes them: `hf2mg.sh --verify` asks.

    python -m training.logits FOLDER

FOLDER holds `asked.json`, `prompt.safetensors` with `input_ids` [1, s], and the images as `0.png`, `1.png`, ...
What is asked: the checkpoint's `weights` and `hf_files`, the folder whose processor has `prepared` the images, and the
`dtype` to which weights are rounded (null: none). Writes `logits.safetensors`: `logits` [s, vocabulary], fp32.
"""

import sys
from pathlib import Path

import torch
from PIL import Image
from safetensors.torch import load_file, save_file

from common.files import read_json
from data.adapter_record import read_adapter_record
from models.images import ImageEncoder
from models.processor import load_processor
from models.registry import family
from training.modules import kernels


def main(folder: Path) -> None:
    """Answer what the folder asks."""
    asked = read_json(folder / "asked.json")
    ids = load_file(folder / "prompt.safetensors")["input_ids"]
    pictures = sorted(folder.glob("*.png"), key=lambda path: int(path.stem))
    images: list[Image.Image] = [Image.open(path) for path in pictures]
    weights, hf_files, prepared = (Path(asked[name]) for name in ("weights", "hf_files", "prepared"))
    dtype = getattr(torch, asked["dtype"]) if asked["dtype"] else None
    with torch.no_grad():
        logits = compute(weights, hf_files, prepared, dtype, ids, images)
    save_file({"logits": logits.contiguous()}, folder / "logits.safetensors")


def compute(
    weights: Path,
    hf_files: Path,
    prepared: Path,
    dtype: torch.dtype | None,
    ids: torch.Tensor,
    images: list[Image.Image],
) -> torch.Tensor:
    """[s, vocabulary] in fp32, on the CPU."""
    kernels.prepare()
    from training import layout
    from training.checkpoints import checkpoint
    from training.modules import torch_dist
    from training.modules.images import encode_share
    from training.modules.registry import model_class
    from training.modules.trainable import Trainable

    torch_dist.initialize_alone()
    layout.initialize(layout.Layout(), seed=0)
    kind, record = family(hf_files), read_adapter_record(weights)
    config = kind.read_config(hf_files)
    trainable = Trainable(lora=record.lora if record else None)
    model = model_class(kind)(config, layout.Layout(), trainable).eval()
    checkpoint.load_model([model], weights)
    for parameter in model.parameters() if dtype else ():
        parameter.copy_(parameter.to(dtype))
    encoder: ImageEncoder = kind.image_encoder(load_processor(prepared), config)
    sizes = [(image.height, image.width) for image in images]
    encoded = encode_share(encoder, sizes, images.__getitem__, rank=0, size=1).to(layout.device())
    ids = ids.to(layout.device())
    positions = encoder.position_ids(ids[0], sizes)
    logits = model(ids, images=encoded, position_ids=None if positions is None else positions[:, None])[0]
    layout.finalize()
    return logits[:, : config.get_text_config().vocab_size].float().cpu()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
