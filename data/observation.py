"""What an agent may be shown of a page."""

from collections.abc import Mapping
from typing import Any, Literal

Mode = Literal["tree", "marks"]
"""The accessibility tree beside the screenshot, or numbered boxes on the screenshot and the list of what they hold."""

Visibility = Literal["released", "correct", "complete"]
"""Which elements the tree shows: all that overlap the viewport, as OpenWebVoyager has it, or 80 % of their area; or as
the first, and controls without a name, too."""

Shown = Literal["tree", "marks", "screen"]
"""What an agent reads of it: either of these, or what another action space makes of it: with coordinates only the
screen's size and address."""


def shown(provenance: Mapping[str, Any]) -> Shown:
    """What the agent of a trajectory read."""
    if "action_space" in provenance:
        return "screen"
    return "marks" if provenance.get("observation") == "marks" else "tree"
