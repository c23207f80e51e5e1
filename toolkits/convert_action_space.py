"""Trajectories of one action space as if the agent had spoken another: numbers to points, points to numbers or points.

    python toolkits/convert_action_space.py --result_dir results/IL --output_dir results/IL-points \\
        --action_space qwen_computer_use

It takes the screenshots and the boxes of the elements, which ours keep. A trajectory with an action that the other
space has no words for, or on an element whose place is not known, is left out and told. Replies are written anew: their
token ids and log-probabilities are left out; verdicts stay, since the same was done. At points, feedback says what is
known without the page: the notes there are, and where the tab is when its address changed.
"""

import collections
import dataclasses
import shutil
from pathlib import Path

from common import cli
from common.errors import UserError
from common.files import read_json
from common.inputs import keep_inputs
from common.options.limits import Checked
from common.shown.terminal import in_short
from data.action_spaces import NUMBERS, action_space
from data.action_spaces.space import ActionSpace, CannotRenderError
from data.action_spaces.translate import Page, translate
from data.actions.action import CANNOT_EXECUTE, FORMAT_ERROR, ActionError
from data.actions.point_action import ActionRecord
from data.actions.screen import Screen, png_size, screen_text
from data.task import Task, task_from_json
from data.trajectory import Trajectory, TrajectoryStep, is_complete, list_trajectories, read_end, read_trajectory
from data.trajectory_writer import TrajectoryWriter

_KEPT = ("outcome.json", "eval_res.json", "final_state.json", "final_pages.json", "final_screen.json")


@dataclasses.dataclass(frozen=True)
class Config(Checked):
    """Rewrite the replies of trajectories for another action space."""

    result_dir: Path
    """Folder of trajectory folders (`task...`), complete ones of which are taken."""
    output_dir: Path
    """Where the rewritten ones go; those that are there are kept."""
    action_space: str
    """The space to rewrite them for."""


def main(config: Config) -> None:
    """Rewrite, then say what became of them."""
    keep_inputs("--output_dir", config.output_dir, [config.result_dir])
    target, fates = action_space(config.action_space), collections.Counter()
    folders = list_trajectories(config.result_dir)
    if not folders:
        raise UserError(f"{config.result_dir}: holds no trajectory folder (task...)")
    for folder in folders:
        if not is_complete(folder) or (config.output_dir / folder.name).exists():
            fates["not complete" if not is_complete(folder) else "there already"] += 1
            continue
        try:
            trajectory = read_trajectory(folder)
            steps = rewritten(trajectory, target)
        except (UserError, ActionError, CannotRenderError, OSError, ValueError) as error:
            print(f"{folder.name}: left out, {error}")
            fates["left out"] += 1
            continue
        write(trajectory, steps, target, config.output_dir / folder.name)
        fates["rewritten"] += 1
    print(f"{config.output_dir}: {', '.join(f'{count} {fate}' for fate, count in fates.items())}")


def rewritten(trajectory: Trajectory, target: ActionSpace) -> list[TrajectoryStep]:
    """Its steps in the words of `target`.

    Raises:
        ActionError, CannotRenderError: one of them cannot be said there.
    """
    source = space_of(trajectory)
    steps, url = [], ""
    for step, tree in zip(trajectory.steps, trajectory.trees, strict=True):
        page = Page(screen_of(trajectory, step.number), _boxes(trajectory.folder, step.number), tree, trajectory.web)
        reply = translate(step.reply, source, target, page)
        own = dataclasses.replace(step, reply=reply, token_ids=None, logprobs=None, weights_version="")
        if target.fixed_feedback:
            failed = step.feedback.startswith(("Failed", "Format error"))
            words = FORMAT_ERROR if step.feedback.startswith("Format") else CANNOT_EXECUTE
            steps.append(dataclasses.replace(own, feedback=words if failed else "", shown=None, actions=None))
            continue
        moved = f"The tab is at {step.url} now." if url not in ("", step.url) else ""
        said = " ".join(filter(None, [step.feedback, step.notes, moved])) if source.fixed_feedback else step.feedback
        own, url = dataclasses.replace(own, feedback=said, notes=""), step.url
        if target.scale is None:
            steps.append(dataclasses.replace(own, shown=target.page_text(tree), actions=None))
            continue
        actions = target.parse(reply, page.screen).actions
        records = [ActionRecord.of(target.name, target.scale, page.screen, action) for action in actions]
        kept = step.shown if source.scale else None
        text = kept or screen_text((f"0, in front: {step.url}",))
        steps.append(dataclasses.replace(own, shown=text, actions=[dataclasses.asdict(record) for record in records]))
    return steps


def write(trajectory: Trajectory, steps: list[TrajectoryStep], target: ActionSpace, folder: Path) -> None:
    """A complete folder; what ends it is written last."""
    old = trajectory.folder
    task = Task(id=trajectory.task_id, ques=trajectory.ques, web=trajectory.web)
    if end := read_end(old):
        task = task_from_json(end["task"], f"{old}: trajectory.json")
    provenance = {key: value for key, value in trajectory.provenance.items() if key != "action_space"}
    provenance |= {"converted_from": space_of(trajectory).name} | (
        {} if target.name == NUMBERS else {"action_space": target.name}
    )
    shutil.rmtree(partial := folder.with_name(f".{folder.name}.partial"), ignore_errors=True)
    writer = TrajectoryWriter(partial, task, provenance, target.prompt(), trajectory.run)
    for step, tree in zip(steps, trajectory.trees, strict=True):
        for name in ("screenshot{}.png", "accessibility_tree{}.txt", "accessibility_tree{}.json", "boxes{}.json"):
            if (old / name.format(step.number)).exists():
                shutil.copyfile(old / name.format(step.number), partial / name.format(step.number))
        writer.add_step(step, tree)
    for name in _KEPT:
        if (old / name).exists():
            shutil.copyfile(old / name, partial / name)
    writer.finish(trajectory.status, trajectory.answer, trajectory.reason)
    partial.rename(folder)


def space_of(trajectory: Trajectory) -> ActionSpace:
    """The one that its agent spoke."""
    return action_space(trajectory.provenance.get("action_space", NUMBERS))


def screen_of(trajectory: Trajectory, number: int) -> Screen:
    """At a step. Released trajectories do not tell the viewport; they have one device pixel a CSS pixel."""
    with open(trajectory.screenshot(number), "rb") as file:
        size = png_size(file.read(24))
    width, height = trajectory.provenance.get("viewport", size)
    return Screen((width, height), size)


def _boxes(folder: Path, number: int) -> dict[int, list[float]]:
    """By label; OpenWebVoyager's raw nodes tell them, too."""
    for name in (f"boxes{number}.json", f"accessibility_tree{number}.json"):
        if (folder / name).exists():
            return _read_boxes(folder / name)
    return {}


def _read_boxes(path: Path) -> dict[int, list[float]]:
    found = read_json(path)
    try:
        boxes = {int(label): box["union_bound"] if isinstance(box, dict) else box for label, box in found.items()}
        return {label: [float(number) for number in box] for label, box in boxes.items()}
    except (AttributeError, TypeError, ValueError, KeyError, OverflowError) as error:
        raise UserError(f"{path}: not boxes by label ({in_short(repr(error))})") from None


if __name__ == "__main__":
    cli.run(Config, main, description=__doc__)
