"""Where an element is that an action names by its number: what the screen shows of it."""

from data.actions.action import CANNOT_EXECUTE, ActionError
from data.actions.screen import Point, box_on_screen, center_of_box
from environments.environment import Observation


def box_of(seen: Observation, label: int) -> tuple[float, float, float, float]:
    """(left, top, width, height) of the part that is on the screen.

    Raises:
        ActionError: there is no such element, or nothing of it is on the screen.
    """
    node = seen.nodes.get(label)
    if node is None or seen.viewport is None:
        raise ActionError(CANNOT_EXECUTE, f"There is no element with the number {label}.")
    shown = box_on_screen(node["union_bound"], seen.viewport)
    if shown is None:
        raise ActionError(CANNOT_EXECUTE, f"Element {label} lies outside of the screen: scroll first.")
    return shown


def center_of(seen: Observation, label: int) -> Point:
    """The middle of that part; errors as `box_of`."""
    return center_of_box(box_of(seen, label))
