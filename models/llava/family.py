"""LLaVA 1.5's facts."""

from models import family


class Family(family.Family):
    """CLIP and two linear layers before a Vicuna or Llama.

    Training as published: Liu et al. 2023 (arXiv 2310.03744), visual instruction tuning, but for the longer sequence,
    as far as Vicuna counts; an image takes 576.
    """

    name = "llava"
    tower_names = ("vision_tower",)
    connector_names = ("multi_modal_projector",)
    training = {  # noqa: RUF012
        "SEQ_LEN": "4096",
        "GLOBAL_BATCH_SIZE": "128",
        "LR": "2e-5",
        "FREEZE_VISION": "true",
    }


FAMILY = Family()
