"""Ids of others' records need not be of one record: LLaVA's are of images, about each of which there are several."""

from collections.abc import Iterator
from typing import Any

from toolkits.readers.reading.left_out import LeftOut


class Ids:
    """Of an import: an id that comes again gets a number, `000000033471--2`, and is counted."""

    def __init__(self) -> None:
        self._times: dict[str, int] = {}
        self.left_out = LeftOut()

    def once(self, records: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        """The records, each with an id of its own."""
        for record in records:
            name = own = record["id"]
            while own in self._times:
                self._times[name] += 1
                own = f"{name}--{self._times[name]}"
            self._times[own] = 1
            if own != name:
                self.left_out.taken["records whose id comes again, with a number behind it"] += 1
            yield {**record, "id": own}
