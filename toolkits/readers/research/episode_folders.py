"""Episodes of canonical actions (episodes.py) as trajectory folders in any action space."""

import dataclasses
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from common.shown.terminal import in_short
from data.action_spaces.androidworld import APP
from data.action_spaces.space import ActionSpace, CannotRenderError
from data.action_spaces.translate import Page, fold, to_number
from data.actions.action import ActionError, Answer, Click, Scroll, Type
from data.actions.point_action import ActionRecord, AnyAction, ClickAt, DragAt, GoTo, ScrollAt, Write
from data.actions.screen import Point, Screen, screen_text
from data.outcome import Outcome, Verdict
from toolkits.readers.reading.folders import ForeignStep, ForeignTrajectory, Tries, write_folder
from toolkits.readers.reading.left_out import LeftOut
from toolkits.readers.research.episodes import NO_SCREENSHOT, NO_TASK, Episode, EpisodeStep

_MOST_KINDS = 30
_LABEL = re.compile(r"^[ \t]*(?:Observation|Thought|Action):[ \t]*", re.MULTILINE)
_PRESSES_ENTER = "typed with ENTER, which this space always presses after a text"


class Losses:
    """What became of the steps and episodes that are not all that the set says, by kind."""

    def __init__(self) -> None:
        self._steps, self._changed, self._episodes = LeftOut(), LeftOut(), LeftOut()

    def step(self, kind: str) -> None:
        """Left out: a hostile set could name thousands of kinds."""
        told = f"steps of {in_short(kind)}"
        self._steps[told if told in self._steps or len(self._steps) < _MOST_KINDS else "steps of other kinds"] += 1

    def changed(self, kind: str) -> None:
        """Said, and not quite what the set says."""
        self._changed[kind] += 1

    def episode(self, episode: Episode, num_said: int) -> None:
        """What no step of it holds; how many steps could be said."""
        self._episodes.update(episode.lost)
        if episode.lost.keys() & {NO_SCREENSHOT, NO_TASK}:
            self._episodes.missing = self._episodes.missing or episode.where
        if not num_said and (episode.steps or not episode.lost):
            self._episodes["episodes without a step that can be said"] += 1

    def tell(self, where: object) -> None:
        """A line for each sort of loss."""
        self._episodes.update(self._steps)
        self._episodes.tell(where)
        if self._changed:
            kinds = ", ".join(f"{kind} ({count})" for kind, count in sorted(self._changed.items()))
            print(f"{where}: said otherwise: {kinds}", file=sys.stderr)


def write_episode(name: str, episode: Episode, space: ActionSpace, out_dir: Path, tries: Tries, losses: Losses) -> None:
    """Its folder; steps that `space` has no words for are left out and counted.

    Raises:
        UserError: naming episode and step.
    """
    steps = [step for one in episode.steps if (step := said_step(name, one, episode.web, space, losses))]
    losses.episode(episode, len(steps))
    if not steps:
        return
    task, run = tries.add(name, episode.ques, episode.web)
    answers = [action.content for step in episode.steps for action in step.actions if isinstance(action, Answer)]
    outcome = None
    if episode.succeeded is not None:
        verdict = Verdict.SUCCESS if episode.succeeded else Verdict.FAILURE
        outcome = Outcome(verdict, "as the set says", judge=name)
    answer = answers[-1] if answers else ""  # what people showed ends where they were done
    trajectory = ForeignTrajectory(task, run, name, steps, answer, outcome, space.name)
    write_folder(episode.where, out_dir, trajectory)


def said_step(name: str, step: EpisodeStep, web: str, space: ActionSpace, losses: Losses) -> ForeignStep | None:
    """The step as an agent of `space` would have done it; None for what it has no words for."""
    if step.unsaid:
        losses.step(step.unsaid)
        return None
    try:
        reply = _reply(step, web, space, losses)
    except CannotRenderError:
        losses.step(" + ".join(map(_kind, step.actions)))
        return None
    shown = None
    if not space.fixed_feedback:
        tabs = (f"0, in front: {step.url}",) if step.url else ()
        shown = space.page_text(step.tree) if space.scale is None else screen_text(tabs)
    return ForeignStep(
        *(step.tree, reply, step.image, step.url, step.feedback),
        shown=shown,
        actions=canonical_records(name, step),
        boxes=step.boxes,
        html=step.html,
    )


def _kind(action: AnyAction) -> str:
    """As people call it."""
    match action:
        case GoTo(url) if url.startswith(APP):
            return "open_app"
        case DragAt(start, end) if start == end:
            return "long_press"
        case _:
            return type(action).__name__


def canonical_records(name: str, step: EpisodeStep) -> list[dict[str, Any]]:
    """What was done as the set says it and on its screenshot, whatever the action space."""
    records = [dataclasses.asdict(ActionRecord.of(name, step.scale, step.screen, action)) for action in step.actions]
    if step.element is not None:
        for record in records:
            record["arguments"]["element"] = step.element
    return records


def _reply(step: EpisodeStep, web: str, space: ActionSpace, losses: Losses) -> str:
    if space.scale is not None:
        return _at_points(step, space, losses)
    page = Page(step.screen, step.boxes, step.tree, web)
    actions = [_on_element(action, page, step.element) for action in fold(step.actions)]
    labels = {getattr(action, name, None) for action in actions for name in ("label", "target")}
    if labels - {None, *page.elements()}:
        raise CannotRenderError("an element whose number is not shown")
    reply = _rendered(step.thought, actions, space, step.screen)
    if any(isinstance(one, Write) and one.replace and not one.enter for one in step.actions):
        losses.changed(_PRESSES_ENTER)
    return reply


def _at_points(step: EpisodeStep, space: ActionSpace, losses: Losses) -> str:
    """With ENTER after a text where the space has words for no other."""
    try:
        return _rendered(step.thought, step.actions, space, step.screen)
    except CannotRenderError:
        entered = [dataclasses.replace(one, enter=True) if isinstance(one, Write) else one for one in step.actions]
        if entered == list(step.actions):
            raise
    reply = _rendered(step.thought, entered, space, step.screen)
    losses.changed(_PRESSES_ENTER)
    return reply


def _rendered(thought: str, actions: Sequence[AnyAction], space: ActionSpace, screen: Screen) -> str:
    """A thought must not read as an action."""
    plain = _LABEL.sub("", thought).replace("Action:", "Action").strip()
    try:
        reply = space.render(plain, actions, screen)
        if space.parse(reply, screen).actions == space.parse(space.render("", actions, screen), screen).actions:
            return reply
    except ActionError:
        pass
    raise CannotRenderError("the thought reads as an action")


def _on_element(action: AnyAction, page: Page, element: int | None) -> AnyAction:
    """By number; a text is typed with ENTER, and that of a menu chosen."""
    match action:
        case ClickAt(_, "left", 1) if element is not None:
            return Click(element)
        case Write(content, at) if at is not None:
            return Type(page.label(at) if element is None else element, content)
        case ScrollAt(0, down, at) if at is not None and not _lies_in(page, at):
            return Scroll(None, "down" if down > 0 else "up")
        case _:
            return to_number(action, page)


def _lies_in(page: Page, at: Point) -> bool:
    try:
        return bool(page.label(at))
    except CannotRenderError:
        return False
