"""What an outcome reward model reads: the same text when it is trained and when it judges.

Source: WebRL (arXiv 2411.02337): intent, action history and the final page; the model answers YES or NO.
"""

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
    actions = [f"{step.number}. {_action_of(step.reply)}" for step in trajectory.steps]
    tree = "\n".join(shorten_lines(trajectory.trees[-1]).split("\n")[:MAX_TREE_LINES]) if trajectory.trees else ""
    parts = [INSTRUCTION, f"INTENT: {ques}", "ACTIONS:\n" + "\n".join(actions), f"FINAL PAGE:\n{{image}}\n{tree}"]
    return Turn("user", escape_special("\n".join(parts)).replace("{image}", IMAGE, 1))


def _action_of(reply: str) -> str:
    """The action line of a reply, on one line; the whole reply where there is none."""
    head, found, action = reply.rpartition("Action:")
    return " ".join((action if found else head or reply).split())
