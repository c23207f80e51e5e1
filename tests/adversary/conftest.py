"""The tiny policy of the server's tests, for attacks on what loads it."""

from tests.server.conftest import tiny_policy  # noqa: F401
