"""Each cache of the serving benchmark can be off by itself."""

import numpy as np
import pytest

from benchmarks import serving_ours
from benchmarks.serving_ours import Ours
from server.engine.memory.prefix_store import common_prefix
from server.engine.model.prompt import ImageInput, Prompt


class FakeEngine:
    model = cache = None


@pytest.mark.parametrize(
    ("off", "prefix", "same_images"),
    [(set(), 6, True), ({"prefixes"}, 0, True), ({"features"}, 6, False), ({"prefixes", "features"}, 0, False)],
)
def test_a_prompt_that_comes_twice(
    monkeypatch: pytest.MonkeyPatch, off: set[str], prefix: int, same_images: bool
) -> None:
    def build(*_: object) -> Prompt:
        return Prompt([1, 9, 9, 2, 3, 4], [ImageInput("shot", 2, None, dict)], image_token_id=9)

    monkeypatch.setattr(serving_ours, "build_prompt", build)
    side = Ours.__new__(Ours)
    side._off = off
    one, other = (side._prompt([], [], FakeEngine()) for _ in range(2))
    assert common_prefix(one.keys, other.keys) == prefix
    assert (one.images[0].key == other.images[0].key) == same_images
    assert np.array_equal(one.keys[1:], other.keys[1:]) and one.token_ids == other.token_ids
