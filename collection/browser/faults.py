"""Faults that are not the agent's: a trajectory they end is `invalid`, never a failure."""


class BrowserError(Exception):
    """The browser or its page broke: crashed, hangs, or is gone."""


class PageError(Exception):
    """A page could not be loaded: no network, no such host, a dead server."""
