"""What goes wrong with a judge. None of it says anything about the agent."""


class JudgeFault(Exception):  # noqa: N818 - as faults of browser and policy are called
    """No verdict after every retry; the trajectory becomes `invalid` and is judged again next time."""


class BudgetSpentError(JudgeFault):
    """The next request could cost more than is left of the budget."""
