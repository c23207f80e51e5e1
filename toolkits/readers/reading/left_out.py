"""What a conversion cannot hold: counted by kind, and told in one line."""

import collections
import sys
from collections.abc import Mapping

from common.shown.terminal import printable


class LeftOut(collections.Counter[str]):
    """`left_out["images at an address"] += 1`; whoever made it calls `tell` once all was converted. `addresses` are
    those of images that are not here (addresses.py)."""

    def __init__(self, *counted: Mapping[str, int]) -> None:
        super().__init__(*counted)
        self.addresses: set[str] = set()

    def __str__(self) -> str:
        return ", ".join(f"{kind} ({count})" for kind, count in sorted(self.items()) if count)

    def tell(self, where: object) -> None:
        """One line on the standard error output, or none."""
        if kinds := str(self):
            print(printable(f"{where}: left out: {kinds}"), file=sys.stderr)
