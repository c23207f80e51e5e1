"""The websites and browsers of the tests of environments."""

from tests.environments.conftest import browser, collector, site, url, wild  # noqa: F401
