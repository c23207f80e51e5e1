"""An actor that does nothing but send a folder, for `benchmarks/collection_nodes.py`: Ray finds it by this module."""

from collections.abc import AsyncIterator
from pathlib import Path

from collection.nodes.pieces import Piece, batches


class PieceSender:
    """The actor."""

    async def send(self, folder: Path) -> AsyncIterator[list[Piece]]:
        """As a node sends a trajectory."""
        for batch in batches(folder):
            yield batch
