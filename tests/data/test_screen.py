"""Where a model's numbers lie on a page."""

import pytest

from data.actions.action import ActionError
from data.actions.screen import PX_RESIZED, REL1000, Screen, resized

SCREEN = Screen((1280, 1000), (1280, 1000))


@pytest.mark.parametrize(
    ("scale", "numbers", "css"),
    [
        (REL1000, [500, 500], (640, 500)),
        (REL1000, [1000, 1000], (1279, 999)),
        (REL1000, [0, 0], (0, 0)),
        (REL1000, [400, 400, 600, 600], (640, 500)),
        (PX_RESIZED, [644, 504], (640, 500)),
    ],
)
def test_known_points(scale, numbers, css):
    assert (scale.point(SCREEN, numbers).x, scale.point(SCREEN, numbers).y) == css


def test_only_the_screenshots_own_size_counts():
    """Two device pixels a CSS pixel, or an image of another size than was asked for."""
    doubled = Screen((1280, 1000), (2560, 2000))
    assert PX_RESIZED.label(doubled) == "px_resized(2548,1988)"
    point = PX_RESIZED.point(doubled, [1274, 994])
    assert (point.x, point.y, point.model) == (640, 500, (1274, 994))
    assert REL1000.point(doubled, [500, 500]) == REL1000.point(SCREEN, [500, 500])


def test_sizes_of_resized_images():
    assert resized(1280, 1000) == (1288, 1008)
    assert resized(10, 10)[0] * resized(10, 10)[1] >= 100 * 28 * 28
    assert resized(9000, 9000)[0] * resized(9000, 9000)[1] <= 16384 * 28 * 28


@pytest.mark.parametrize("scale", [REL1000, PX_RESIZED])
def test_there_and_back(scale):
    for x, y in ((0, 0), (1279, 999), (640, 500), (333, 77)):
        numbers = scale.numbers(SCREEN, scale.point(SCREEN, [x * scale.size(SCREEN)[0] / 1280, y]))
        back = scale.point(SCREEN, numbers)
        assert abs(back.x - x) <= 0.65 and max(numbers) < 1288
    assert REL1000.numbers(SCREEN, REL1000.point(SCREEN, [1000, 1000])) == [999, 999]


@pytest.mark.parametrize(
    "numbers", [[1, 2, 3], "5, 6", [1, None], [float("nan"), 1], [-1, 5], [5, 1001], [True, 1], None, [10**400, 1]]
)
def test_what_is_no_point(numbers):
    with pytest.raises(ActionError, match=r"no point|outside of the screen"):
        REL1000.point(SCREEN, numbers)
