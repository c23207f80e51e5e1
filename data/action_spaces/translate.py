"""Replies of one action space in the words of another, where it is known where the elements lie."""

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from data.action_spaces.space import ActionSpace, CannotRenderError
from data.actions.action import Click, Drag, Restart, Scroll, Type
from data.actions.point_action import AnyAction, ClickAt, DragAt, GoTo, Press, ScrollAt, Write
from data.actions.screen import Point, Screen, box_on_screen, center_of_box

SCROLLED = 2 / 3  # of the window, by `Scroll`
_LINE = re.compile(r"""^\t*\[(\d{1,9})\] (\w+) ('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")""", re.MULTILINE)


@dataclass(frozen=True)
class Page:
    """What a reply is about: the screen, its elements' boxes by label ([x, y, width, height] in CSS pixels), their
    tree, and where the task began."""

    screen: Screen
    boxes: Mapping[int, Sequence[float]] = field(default_factory=dict)
    tree: str = ""
    web: str = ""

    def elements(self) -> dict[int, tuple[str, str]]:
        """Role and name by label."""
        return {int(line[1]): (line[2], ast.literal_eval(line[3])) for line in _LINE.finditer(self.tree)}

    def center(self, label: int) -> Point:
        """Of what the window shows of an element."""
        if label not in self.boxes:
            raise CannotRenderError(f"where element {label} lies is not known")
        shown = box_on_screen(self.boxes[label], self.screen.viewport)
        if shown is None:
            raise CannotRenderError(f"element {label} lies outside of the window")
        return center_of_box(shown)

    def label(self, point: Point) -> int:
        """Of the smallest element at a point."""
        roles = self.elements()
        areas = [
            (width * height, label)
            for label, (left, top, width, height) in self.boxes.items()
            if left <= point.x < left + width and top <= point.y < top + height
            if roles.get(label, ("", ""))[0] != "RootWebArea"
        ]
        if not areas:
            raise CannotRenderError(f"no element lies at ({point.x:g}, {point.y:g})")
        return min(areas)[1]


def translate(reply: str, source: ActionSpace, target: ActionSpace, page: Page) -> str:
    """The reply in the words of `target`.

    Raises:
        ActionError: it is no reply in `source`.
        CannotRenderError: `target` has no words for it, or where an element lies is not known.
    """
    said = source.parse(reply, page.screen)
    if source.scale is None and target.scale is None:
        return target.render(said.thought, said.actions, page.screen)
    home = Restart() if target.has_home else None
    actions = (
        [action if action == home else to_point(action, page) for action in said.actions]
        if source.scale is None
        else fold(said.actions)
    )
    if target.scale is None:
        actions = [to_number(action, page) for action in actions]
    return target.render(said.thought, actions, page.screen)


def to_point(action: AnyAction, page: Page) -> AnyAction:
    """An action on a numbered element at its center; what is typed replaces, and ENTER follows."""
    match action:
        case Click(label) if (
            page.elements().get(label, ("", ""))[0] == "option"
        ):  # of a menu, drawn outside of the page
            return Write(page.elements()[label][1], page.center(label))
        case Click(label):
            return ClickAt(page.center(label))
        case Type(label, content):
            return Write(content, page.center(label), replace=True, enter=True)
        case Scroll(label, direction):
            height = round(page.screen.viewport[1] * SCROLLED)
            at = None if label is None else page.center(label)
            return ScrollAt(0, height if direction == "down" else -height, at)
        case Drag(label, target):
            return DragAt(page.center(label), page.center(target))
        case Restart():
            return GoTo(page.web)
        case _:
            return action


def to_number(action: AnyAction, page: Page) -> AnyAction:
    """The other way round."""
    match action:
        case ClickAt(at, "left", 1):
            return Click(page.label(at))
        case Write(content, at, True, True) if at is not None:
            return Type(page.label(at), content)
        case ScrollAt(0, down, at):
            label = None if at is None or at == page.screen.center else page.label(at)
            return Scroll(label, "down" if down > 0 else "up")
        case DragAt(start, end) if start is not None:
            return Drag(page.label(start), page.label(end))
        case GoTo(url) if url == page.web:
            return Restart()
        case _:
            return action


def fold(actions: Sequence[AnyAction]) -> list[AnyAction]:
    """Click, select all, write and ENTER as one action, where they follow each other."""
    folded: list[AnyAction] = []
    for action in actions:
        last = folded[-1] if folded else None
        if isinstance(action, Write) and action.at is None:
            if last == Press(("Control", "a")):
                folded.pop()
                action, last = replace(action, replace=True), folded[-1] if folded else None
            if isinstance(last, ClickAt) and (last.button, last.count) == ("left", 1):
                folded.pop()
                action = replace(action, at=last.at)
        elif action == Press(("Enter",)) and isinstance(last, Write):
            folded.pop()
            action = replace(last, enter=True)
        folded.append(action)
    return folded
