"""ViP-LLaVA's facts, and some that no family has yet: its mark, its end of a reply, the values of its training."""

from models import family


class Family(family.Family):
    """CLIP, several layers of it, before a Llama."""

    name = "vipllava"
    tower_names = ("vision_tower",)
    connector_names = ("multi_modal_projector",)
    end_tokens = ("<end_of_utterance>",)
    training = {  # noqa: RUF012
        "LR": "1e-3",
        "LR_SCHEDULE": "constant",
        "LR_WARMUP_ITERS": "0",
        "GLOBAL_BATCH_SIZE": "6",
    }


FAMILY = Family()
