"""What may be changed of how a checkpoint's images are prepared."""

import dataclasses
from typing import Any


@dataclasses.dataclass(frozen=True)
class ImageSettings:
    """None leaves it as the folder says. `image_size` is the longest and the shortest edge in pixels."""

    image_size: int | None = None
    do_image_splitting: bool | None = None

    def given(self) -> dict[str, Any]:
        """Those that are not None, by name."""
        return {name: value for name, value in vars(self).items() if value is not None}

    def flags(self) -> str:
        """As they are typed."""
        return " ".join(f"--{name} {value}" for name, value in self.given().items())
