"""CogAgent's grounded operations on a phone, as DigiRL reads them (`autoui_utils.py`). The prompt is ours.

    Plan: ... Next Action: ... Grounded Operation: tap at the position [[250,700]]

Points are thousandths of the screen, right and down. A swipe has a direction only, and always the same way.
"""

import re
from collections.abc import Sequence

from data.action_spaces.space import CannotRenderError, Parsed, PointSpace, writable
from data.actions.action import ActionError, Answer, GoBack, Restart
from data.actions.point_action import AnyAction, ClickAt, DragAt, Press, ScrollAt, Write
from data.actions.screen import REL1000, Point, Screen

_PROMPT = """\
You use a phone to carry out a task for a person. Each turn shows you a screenshot. You answer in exactly this form:
Plan: what is left to do
Next Action: what you do now
Grounded Operation: one of these
tap at the position [[500,500]]
type "some text"
swipe up, swipe down, swipe left, swipe right
press back, press home, press enter
task complete, task impossible

Points are from 0 to 1000, right and down.
"""
_OPERATION = "Grounded Operation:"
_POINT = re.compile(r"\[\[(\d{1,4}),\s*(\d{1,4})\]\]")
_TYPED = re.compile(r'type\b.*?"(.*)"', re.DOTALL | re.IGNORECASE)
_WAYS = {
    "swipe up": ((0.5, 0.5), (0.5, 0.2)),
    "swipe down": ((0.5, 0.2), (0.5, 0.5)),
    "swipe left": ((0.8, 0.5), (0.2, 0.5)),
    "swipe right": ((0.2, 0.5), (0.8, 0.5)),
}
"""Of the screen, where the finger touches it and where it lifts."""
_PLAIN: dict[str, AnyAction] = {
    "press home": Restart(),
    "press back": GoBack(),
    "press enter": Press(("Enter",)),
    "task complete": Answer("success"),
    "task impossible": Answer("failure"),
}


class CogAgent(PointSpace):
    name, scale = "cogagent", REL1000
    has_home = True

    def prompt(self, view: str = "tree", restart: str = "Restart") -> str:
        return _PROMPT

    def parse(self, reply: str, screen: Screen | None) -> Parsed:
        assert screen is not None
        head, found, operation = reply.rpartition(_OPERATION)
        if not found:
            raise ActionError(f"Format error: the reply holds no {_OPERATION[:-1]}.")
        thought = head.partition("Next Action:")[2] or head.partition("Plan:")[2]
        return Parsed(" ".join(thought.split()), (self._action(operation.strip(), screen),))

    def _action(self, operation: str, screen: Screen) -> AnyAction:
        said = operation.lower()
        word = said.partition(" ")[0]
        if word == "tap":
            point = _POINT.search(operation)
            if point is None:
                raise ActionError("tap takes a point, such as [[500,500]].")
            return ClickAt(self.scale.point(screen, [int(point[1]), int(point[2])]))
        if word == "type":
            typed = _TYPED.match(operation)
            if typed is None:
                raise ActionError('type takes a text, such as type "some text".')
            return Write(writable(typed[1]))
        for words, (begin, end) in _WAYS.items():
            if words in said:
                return DragAt(_at(begin, screen), _at(end, screen))
        for words, action in _PLAIN.items():
            if words in said:
                return action
        raise ActionError(f"There is no operation {operation[:40]!r}.")

    def render(self, thought: str, actions: Sequence[AnyAction], screen: Screen | None) -> str:
        assert screen is not None
        if len(actions) != 1:
            raise CannotRenderError(f"cogagent says one action a reply, not {len(actions)}")
        return f"Next Action: {' '.join(thought.split())} {_OPERATION} {self._written(actions[0], screen)}"

    def _written(self, action: AnyAction, screen: Screen) -> str:
        match action:
            case ClickAt(at, "left", 1):
                return "tap at the position [[{},{}]]".format(*self.scale.numbers(screen, at))
            case Write(content, None, False, False):
                return f'type "{content}"'
            case ScrollAt(right, down, None):  # the finger goes the other way
                way = ("left" if right > 0 else "right") if right else ("up" if down > 0 else "down")
                return f"swipe {way}"
            case DragAt(start, end):
                for words, (begin, lift) in _WAYS.items():
                    if (start, end) == (_at(begin, screen), _at(lift, screen)):
                        return words
            case _:
                for words, plain in _PLAIN.items():
                    if plain == action:
                        return words
        raise CannotRenderError(f"cogagent has no words for {type(action).__name__}")


def _at(share: tuple[float, float], screen: Screen) -> Point:
    return Point(share[0] * screen.viewport[0], share[1] * screen.viewport[1])


SPACE = CogAgent()
