"""What a released idefics2 sees, which no file of its folder says."""

from typing import Literal

ImageRecipe = Literal["published", "keep"]
"""As OpenWebVoyager trained it, 980 pixels and no splitting; or as the processor files have it."""
