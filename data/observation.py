"""What an agent may be shown of a page."""

from typing import Literal

Mode = Literal["tree", "marks"]
"""The accessibility tree beside the screenshot, or numbered boxes on the screenshot and the list of what they hold."""

Visibility = Literal["released", "correct"]
"""Which elements count as visible: all that overlap the viewport, as OpenWebVoyager has it, or 80 % of their area."""
