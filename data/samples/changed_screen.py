"""What a model is asked about an action after it: a conversation's last reply, then this question, YES or NO.

Source: Digi-Q (arXiv 2502.15760), whose features of an action are those of a model that was fine-tuned to answer.
"""

from collections.abc import Sequence

QUESTION = "Did this action change the screen? Answer YES or NO."


def with_question(conversations: Sequence[dict[str, str]], answer: str) -> list[dict[str, str]]:
    """A sample's turns, and the question with its answer behind them."""
    return [*conversations, {"from": "human", "value": QUESTION}, {"from": "gpt", "value": answer}]
