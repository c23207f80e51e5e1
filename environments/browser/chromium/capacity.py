"""How many sessions, browsers and busy pages this machine carries, where the user does not say.

Measured (docs/results/collector.md): a step costs about an eighth of a second of CPU and a session 20 MB on small
pages; real sites take ten times the memory. A browser's own process becomes a bottleneck above some 32 sessions.
"""

import psutil

from common.processes import num_cores

MB_PER_SESSION = 250
SESSIONS_PER_CORE = 8
SESSIONS_PER_BROWSER = 8  # while cores are left for more browsers
MOST_SESSIONS_PER_BROWSER = 32
BROWSERS_PER_CORE = 2
BUSY_PAGES_PER_CORE = 8  # enough to wait for slow sites, few enough that no page misses a deadline for want of CPU


def default_sessions() -> int:
    """Trajectories at the same time: what cores and free memory allow on real websites."""
    free_mb = psutil.virtual_memory().available / 1e6
    return max(1, min(SESSIONS_PER_CORE * num_cores(), int(free_mb / MB_PER_SESSION)))


def default_browsers(num_sessions: int) -> int:
    """Browsers for that many sessions: one for eight, then no more than two a core, then one for 32."""
    few = -(-num_sessions // MOST_SESSIONS_PER_BROWSER)
    return max(few, min(-(-num_sessions // SESSIONS_PER_BROWSER), BROWSERS_PER_CORE * num_cores()))


def default_busy_pages() -> int:
    """Pages that may load, act or be observed at the same time."""
    return BUSY_PAGES_PER_CORE * num_cores()
