"""Idefics3's facts; SmolVLM-256M, -500M and -Instruct have its `model_type`, too."""

from models import family


class Family(family.Family):
    """SigLIP over tiles and a pixel shuffle before a Llama.

    Training: the whole model learns, with idefics2's values; SmolVLM-256M and -500M count to 8192 and have 9 and 15
    heads, which TP=8 does not divide.
    """

    name = "idefics3"
    tower_names = ("vision_model",)
    connector_names = ("connector",)
    end_tokens = ("<end_of_utterance>",)
    parts_of_split_image = "tiles"
    training = {"TP": "1"}  # noqa: RUF012


FAMILY = Family()
