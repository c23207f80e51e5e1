"""The websites and browsers of the tests of environments."""

from tests.environments.conftest import collector, harbour, site, url, wild  # noqa: F401
