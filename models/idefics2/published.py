"""How OpenWebVoyager trained and served idefics2, which the processor files of its release do not say.

Shortest and longest edge are the same, so a 1024x768 screenshot becomes a square of 980x980; it is not split.
Source: OpenWebVoyager, `hf_online_server.py` and its training data set.
"""

from models.image_settings import ImageSettings

IMAGES = ImageSettings(image_size=980, do_image_splitting=False)
