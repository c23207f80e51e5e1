"""Ends of a trajectory that are not the agent's doing: `invalid` by a fault, `blocked` by the website, no failures."""


class BrowserError(Exception):
    """The browser or its page broke: crashed, hangs, or is gone."""


class PageError(Exception):
    """A page could not be loaded: no network, no such host, a dead server."""


class BlockedError(Exception):
    """The website turns the agent away: a captcha, access denied."""


class DeviceError(Exception):
    """A device hangs, or is gone."""
