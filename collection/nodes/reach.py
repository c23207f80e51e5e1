"""Which nodes reach which websites: to tell a node that reaches none from a website that is down."""

import time
from dataclasses import dataclass, field

from collection.campaign.taking import MAX_FAULTS


@dataclass
class Reach:
    """Of all collectors: when each last opened a website, and the websites that have not opened since it last did."""

    _opened: dict[str, dict[object, float]] = field(default_factory=dict)
    _failed: dict[object, list[tuple[str, float]]] = field(default_factory=dict)

    def opened(self, collector: object, site: str) -> None:
        """A page of the website came."""
        self._opened.setdefault(site, {})[collector] = time.monotonic()
        self._failed.pop(collector, None)

    def failed(self, collector: object, site: str) -> bool:
        """None came. Whether so many did not in a row that others have opened meanwhile that it is due to the node."""
        failed = self._failed.setdefault(collector, [])
        failed.append((site, time.monotonic()))
        since = failed[0][1]
        return len(failed) >= MAX_FAULTS and all(self._elsewhere(site, collector) > since for site, _ in failed)

    def _elsewhere(self, site: str, collector: object) -> float:
        return max((when for other, when in self._opened.get(site, {}).items() if other is not collector), default=0.0)
