"""What judges are told, up to how their reply ends, which `verdict.py` adds. Words of others stand behind a fence."""

import hashlib
from dataclasses import dataclass

from collection.judges.verdicts.fence import NOTE, fenced
from data.task import Task
from data.trajectory import Trajectory

TASK, RESPONSE, PAGE = "TASK", "RESULT RESPONSE", "PAGE"
_ROLE = """\
You check the work of an assistant that browses the web for people. You are given
1. TASK: what the person asked for.
2. RESULT RESPONSE: what the assistant answered at the end.
3. {material}
"""

WEBVOYAGER = (
    _ROLE
    + """\
Rules:
-- Do not browse or act; judge from what you are given.
-- Assume nothing that you cannot see in the screenshots or read in the response.
-- A task with several parts is done only when every part is done.
-- The screenshots are authentic and show the newest states of the pages.
-- Where response and screenshots contradict each other, the screenshots are right.
-- Where the screenshots say nothing, the response may be believed.
"""
    + NOTE
    + """\
Give your reasons in a few sentences.
"""
)

PAE = (
    _ROLE
    + """\
Check, one after another:
(a) Does the response give what was asked for, completely, and not merely say that it was found?
(b) Is every name, number, date and condition of the task met by what the screenshots show?
(c) If something was to be done on the site, do the screenshots show that it was done, once, and nothing else?
(d) Is anything in the response contradicted by the screenshots or made up?
If you are not sure of a point, it is not met. The task is a success only when all points that apply are met.
"""
    + NOTE
    + """\
Write down your thoughts on each point.
"""
)

DIGIRL = f"""\
You watch an assistant carry out a task on a device, one screenshot at a time. Decide whether the state you are shown \
is one in which the task is done: what was to be found is on the screen, or what was to be changed has been changed. \
Being on the way there is not enough.
{NOTE}\
First say what the screen should show once the task is done, then what it shows.
"""

FUZZY_MATCH = f"""\
Grade a student's answer against a reference answer. Other words, units or formats are fine as long as the meaning is \
the same. "N/A" means that what was asked cannot be had.
{NOTE}\
Give your reasons in a sentence.
"""

UNACHIEVABLE_MATCH = f"""\
A task could not be done, for a known reason. Somebody tried it and reported what happened. Decide whether the report \
gives this reason, be it implicitly.
{NOTE}\
Give your reasons in a sentence.
"""


@dataclass(frozen=True)
class Shown:
    """How much of a trajectory a judge sees: the newest screenshots (0: all) and the text of the newest pages."""

    num_images: int = 3
    num_trees: int = 0

    def image_steps(self, trajectory: Trajectory) -> list[int]:
        """Numbers of the steps whose screenshots are shown, oldest first."""
        numbers = [step.number for step in trajectory.steps]
        return numbers[-self.num_images :] if self.num_images else numbers

    def trees(self, trajectory: Trajectory) -> list[str]:
        """The texts shown, oldest first."""
        return trajectory.trees[-self.num_trees :] if self.num_trees else []


def system_prompt(template: str, shown: Shown) -> str:
    """A judge's system prompt for what it is shown."""
    material = "SCREENSHOTS: the newest ones, oldest first."
    if shown.num_trees:
        material += "\n4. PAGES: the accessibility trees of the newest pages, oldest first."
    return template.format(material=material)


def case_text(task: Task, trajectory: Trajectory, shown: Shown) -> str:
    """Task, answer and page texts, each behind the fence."""
    parts = [fenced(TASK, task.ques), fenced(RESPONSE, trajectory.answer or "")]
    parts += [fenced(PAGE, tree) for tree in shown.trees(trajectory)]
    return "\n".join([*parts, f"{len(shown.image_steps(trajectory))} screenshots:"])


def prompt_hash(*texts: str) -> str:
    """What tells two prompts apart in a verdict's provenance."""
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:12]
