"""LLaVA-NeXT's facts."""

from models import family


class Family(family.Family):
    """CLIP over a thumbnail and tiles, before a Mistral, Vicuna or Yi.

    Training: the whole model learns, as in LLaVA-NeXT's own; an image of 1024 x 768 takes 2340 tokens (Vicuna and Yi
    count to 4096 only); the other values are idefics2's.
    """

    name = "llava_next"
    tower_names = ("vision_tower",)
    connector_names = ("multi_modal_projector", "image_newline")
    training = {"SEQ_LEN": "16384"}  # noqa: RUF012


FAMILY = Family()
