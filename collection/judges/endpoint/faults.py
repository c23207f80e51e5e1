"""What goes wrong with a judge. None of it says anything about the agent."""


class JudgeFault(Exception):  # noqa: N818 - as faults of browser and policy are called
    """No verdict after every retry; the trajectory becomes `invalid` and is judged again next time. `raw` is what the
    judge said, if it said anything."""

    def __init__(self, message: str, raw: str = ""):
        super().__init__(message)
        self.raw = raw


class UnclearReplyError(JudgeFault):
    """The judge replied, and was asked again, but gave no verdict."""


class RefusedError(JudgeFault):
    """The endpoint answers, but not to this request."""


class BudgetSpentError(JudgeFault):
    """The next request could cost more than is left of the budget."""
