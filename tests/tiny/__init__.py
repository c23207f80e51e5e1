"""Tiny real policies and data for them, made in a second: what tests of every room train, convert and serve."""

from tests.tiny.child_process import environment, start_script
from tests.tiny.idefics2 import NUM_LATENTS, build_decisive_policy, build_policy
from tests.tiny.samples import build_dataset, open_picture, picture, sample, text, tries

__all__ = [
    "NUM_LATENTS",
    "build_dataset",
    "build_decisive_policy",
    "build_policy",
    "environment",
    "open_picture",
    "picture",
    "sample",
    "start_script",
    "text",
    "tries",
]
