"""What an outcome reward model reads: the same text when it is trained and when it judges.

Source: WebRL (arXiv 2411.02337): intent, action history and the final page; the model answers YES or NO.
"""

import math
from collections.abc import Sequence

from data.conversation import IMAGE, Turn, escape_special, shorten_lines
from data.trajectory import Trajectory

YES, NO = "YES", "NO"
INSTRUCTION = (
    "Decide whether an agent that navigates websites has done what its user intended, given the intent, the agent's "
    "actions and the final state of the page. Answer YES or NO."
)
MAX_TREE_LINES = 300


def reward_model_turn(ques: str, trajectory: Trajectory) -> Turn:
    """The user turn; its one `<image>` is the last step's screenshot."""
    replies = [step.reply for step in trajectory.steps]
    return Turn("user", reward_model_text(ques, replies, trajectory.trees[-1] if trajectory.trees else ""))


def reward_model_text(ques: str, replies: Sequence[str], page: str, with_image: bool = True) -> str:
    """The text of the user turn; trajectories of text-only agents have no screenshot of the final page."""
    actions = [f"{number}. {_action_of(reply)}" for number, reply in enumerate(replies, start=1)]
    head = "\n".join([INSTRUCTION, f"INTENT: {ques}", "ACTIONS:", *actions, "FINAL PAGE:\n"])
    tree = "\n".join(shorten_lines(page).split("\n")[:MAX_TREE_LINES])
    return escape_special(head) + (f"{IMAGE}\n" if with_image else "") + escape_special(tree)


def probability_of_yes(yes: float, no: float) -> float:
    """P(YES) / (P(YES) + P(NO)) of two log-probabilities; at least 0.5 is a success."""
    return 1 / (1 + math.exp(min(700.0, no - yes)))


def _action_of(reply: str) -> str:
    """The action line of a reply, on one line; the whole reply where there is none."""
    head, found, action = reply.rpartition("Action:")
    return " ".join((action if found else head or reply).split())
