"""The tiny policy of the server's tests, for attacks on what loads it; the collector and website of those of
environments."""

from tests.environments.conftest import collector, site, url  # noqa: F401
from tests.server.conftest import tiny_policy  # noqa: F401
