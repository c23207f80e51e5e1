"""Pictures of odd kinds, from their files' bytes on: trainer, scorer and server show what Hugging Face's processors
make of them, or refuse them where those fail.

`PICTURES=5 pytest tests/models/test_pictures.py -s` draws as many sets of 62.
"""

import base64
import io
import os
from pathlib import Path

import pytest
import torch
from PIL import Image, ImageOps

from common.errors import UserError
from models.registry import family
from models.tokens.encoding import ConversationEncoder
from server.engine.model.prompt import build_prompt
from server.engine.model.vision_language_model import LoadOptions, VisionLanguageModel
from server.engine.model.wire_images import from_data_urls, from_predict
from tests.models.drawn_pictures import drawn
from tests.tiny.families import SEEING
from training.batches.tokenize_sample import tokenize
from training.modules.images import encode_share

SETS = int(os.environ.get("PICTURES", "1"))
ASKED = [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "What is there?"}]}]
SAMPLE = [{"from": "human", "value": "<image>What is there?"}, {"from": "gpt", "value": "A picture."}]
Seen = tuple[list[int], torch.Tensor]
"""A prompt's token ids, and all pixels in order."""


@pytest.fixture(scope="module", params=SEEING)
def policy(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("policy") / "hf"
    SEEING[request.param](folder)
    return folder


class Sides:
    """The processor itself, the trainer (whose encoder the scorer has, too), and the server by both protocols."""

    def __init__(self, folder: Path):
        self.model = VisionLanguageModel(folder, LoadOptions(device="cpu"))
        self.processor = self.model.processor  # of transformers' own class
        self.images = family(folder).image_encoder(self.processor, family(folder).read_config(folder))
        self.encoder = ConversationEncoder(self.processor, self.images, 1_000_000, 3, "answer")

    def expected(self, encoded: bytes) -> Seen:
        picture = ImageOps.exif_transpose(Image.open(io.BytesIO(encoded)))
        text = self.processor.apply_chat_template(ASKED, add_generation_prompt=True)
        made = self.processor(text=[text.rstrip(" ")], images=[picture], return_tensors="pt")
        # Idefics2's processor as a whole drops what is transparent; its image processor, like all others, does not
        pixels = self.processor.image_processor(images=[[picture]], return_tensors="pt")["pixel_values"]
        return made["input_ids"][0].tolist(), pixels.flatten()

    def trained(self, encoded: bytes) -> Seen:
        tokens = tokenize(self.encoder, "sample", {"conversations": SAMPLE}, [encoded])
        [picture] = tokens.images
        shared = encode_share(self.images, [picture.size], lambda index: picture.decode("sample"), 0, 1)
        assert shared.pixels
        return tokens.ids[: tokens.loss_mask.nonzero()[0]].tolist(), shared.pixels["pixel_values"].flatten()

    def served(self, encoded: bytes) -> Seen:
        text = base64.b64encode(encoded).decode()
        [posted], [asked] = from_predict([text]), from_data_urls([f"data:image/png;base64,{text}"])
        assert posted.key == asked.key
        prompt = build_prompt(ASKED, [asked], self.model, NothingKept())
        [image] = prompt.images
        return prompt.token_ids, image.load()["pixel_values"].flatten()


class NothingKept:
    """A feature cache that is empty."""

    def get(self, key: str) -> None:
        return None


def test_every_side_shows_what_the_processor_makes_of_the_file(policy: Path) -> None:
    sides = Sides(policy)
    wrong, refused = [], 0
    for seed in range(SETS):
        for name, encoded in drawn(seed):
            try:
                ids, pixels = sides.expected(encoded)
            except Exception:
                refused += 1
                for show in (sides.trained, sides.served):
                    with pytest.raises(UserError):
                        show(encoded)
                continue
            for show in (sides.trained, sides.served):
                try:
                    own_ids, own_pixels = show(encoded)
                except UserError as error:
                    wrong.append((name, show.__name__, str(error)))
                    continue
                if ids != own_ids or not pixels.equal(own_pixels):
                    wrong.append((name, show.__name__, len(ids), len(own_ids), pixels.shape, own_pixels.shape))
    print(f"{SETS} sets of pictures: {refused} refused")
    assert not wrong, "\n".join(map(str, wrong))
