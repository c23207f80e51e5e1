"""The one error a user can cause."""


class UserError(ValueError):
    """What was wrong, where, and what to do, in one line. CLIs print it without a traceback and exit with 2."""
