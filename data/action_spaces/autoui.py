"""Auto-UI's decisions on a phone: two points, a text, a key or an end, as DigiRL and Digi-Q train it.

    Action Plan: [DUAL_POINT] ; Action Decision: "action_type": "DUAL_POINT", "touch_point": "[0.7000, 0.2500]",
    "lift_point": "[0.7000, 0.2500]", "typed_text": ""

Points are shares of the screen, [down, right], with four digits; where there is none, [-1.0, -1.0]. A finger that lifts
less than the square root of 10 pixels from where it touched taps, else it swipes (DigiRL, `android/env.py`). Unlike its
parser, this one reads typed texts with commas and quotes in them.
"""

import re
from collections.abc import Sequence

from data.action_spaces.space import CannotRenderError, Parsed, PointSpace, writable
from data.actions.action import ActionError, Answer, GoBack, Restart
from data.actions.finger import scroll_by_finger
from data.actions.point_action import AnyAction, ClickAt, DragAt, Press, ScrollAt, Write
from data.actions.screen import REL1, Point, Screen
from data.conversation import IMAGE, Conversation, StepText, Turn, escape_special

TAP_PIXELS_SQUARED = 10
COMPLETE, IMPOSSIBLE = "success", "failure"
_PROMPT = """\
You use a phone to carry out a task for a person. Each turn shows you a screenshot, the action before and the goal. \
You answer in exactly this form:
Action Plan: [types of this action and of those that follow] ; Action Decision: "action_type": "DUAL_POINT", \
"touch_point": "[0.7000, 0.2500]", "lift_point": "[0.7000, 0.2500]", "typed_text": ""

Types are DUAL_POINT (touch and lift at the same point tap, at two points swipe), TYPE (typed_text, where the cursor \
is), PRESS_BACK, PRESS_HOME, PRESS_ENTER, STATUS_TASK_COMPLETE and STATUS_TASK_IMPOSSIBLE. Points are shares of the \
screen, [down, right]; types without points have "[-1.0, -1.0]".
"""
_DECISION = re.compile(r'"action_type": "(\w+)"')
_PLAN = re.compile(r"Action Plan:\s*(\[.*?\])", re.DOTALL)
_TYPED = re.compile(r'"typed_text": "(.*)"', re.DOTALL)
_POINTS, _NUMBER = ("touch_point", "lift_point"), r"(-?\d{{1,9}}(?:\.\d{{1,9}})?)"
_POINT = rf'"{{}}": "\[{_NUMBER}, {_NUMBER}\]"'
_NO_POINT = "[-1.0, -1.0]"
_PLAIN: dict[str, AnyAction] = {
    "PRESS_BACK": GoBack(),
    "PRESS_HOME": Restart(),
    "PRESS_ENTER": Press(("Enter",)),
    "STATUS_TASK_COMPLETE": Answer(COMPLETE),
    "STATUS_TASK_IMPOSSIBLE": Answer(IMPOSSIBLE),
    "TASK_IMPOSSIBLE": Answer(IMPOSSIBLE),  # as DigiRL reads it
}


class AutoUI(PointSpace):
    """A thought is Auto-UI's plan, a list of types. Others' thoughts are not written: it thinks nothing else."""

    name, scale = "autoui", REL1
    has_home = True

    def prompt(self, view: str = "tree", restart: str = "Restart") -> str:
        return _PROMPT

    def parse(self, reply: str, screen: Screen | None) -> Parsed:
        assert screen is not None
        decision = reply.rpartition("Action Decision:")[2]
        kind, plan = _DECISION.search(decision), _PLAN.search(reply)
        if kind is None:
            raise ActionError('Format error: the reply holds no Action Decision with an "action_type".')
        return Parsed(plan[1] if plan else "", (self._action(kind[1], decision, screen),))

    def _action(self, kind: str, decision: str, screen: Screen) -> AnyAction:
        if kind in _PLAIN:
            return _PLAIN[kind]
        if kind == "TYPE":
            typed = _TYPED.search(decision)
            if typed is None:
                raise ActionError('TYPE takes a "typed_text".')
            return Write(writable(typed[1]))
        if kind != "DUAL_POINT":
            raise ActionError(f"There is no action_type {kind[:40]!r}.")
        touch, lift = (self._point(name, decision, screen) for name in _POINTS)
        return ClickAt(touch) if _is_tap(touch, lift) else DragAt(touch, lift)

    def _point(self, name: str, decision: str, screen: Screen) -> Point:
        said = re.search(_POINT.format(name), decision)
        if said is None:
            raise ActionError(f'DUAL_POINT takes a "{name}", such as "[0.5000, 0.5000]".')
        return self.scale.point(screen, [float(said[2]), float(said[1])])

    def conversation(self, ques: str, steps: Sequence[StepText], last_n: int) -> Conversation:
        """A turn by itself, with the newest screenshot: of what was before it reads the last action alone."""
        replies = [step.reply for step in steps[:-1] if step.reply is not None]
        shown = f"{IMAGE}\n" if last_n else ""
        turns = [Turn("user", shown + escape_special(observation(ques, replies)))]
        if (reply := steps[-1].reply) is not None:
            turns.append(Turn("assistant", escape_special(reply)))
        return Conversation(turns, [len(steps)] if last_n else [])

    def render(self, thought: str, actions: Sequence[AnyAction], screen: Screen | None) -> str:
        assert screen is not None
        if len(actions) != 1:
            raise CannotRenderError(f"autoui says one action a reply, not {len(actions)}")
        said = decision(actions[0], screen)
        kind = said.split('"')[3]
        plan = thought if thought.startswith("[") and kind in thought else f"[{kind}]"
        return f"Action Plan: {plan} ; Action Decision: {said}"


def decision(action: AnyAction, screen: Screen) -> str:
    """An action as it stands in a decision and in the next observation; CannotRenderError where there are no words."""
    match action:
        case ClickAt(at, "left", 1):
            return _spelled("DUAL_POINT", _share(at, screen), _share(at, screen))
        case DragAt(start, end) if start is not None and not _is_tap(start, end):
            return _spelled("DUAL_POINT", _share(start, screen), _share(end, screen))
        case ScrollAt(right, down, at):
            return decision(scroll_by_finger(right, down, at, screen.viewport), screen)
        case Write(content, None, False, False):
            return _spelled("TYPE", typed=content)
        case _:
            kind = next((kind for kind, plain in _PLAIN.items() if plain == action), None)
            if kind is None:
                raise CannotRenderError(f"autoui has no words for {type(action).__name__}")
            return _spelled(kind)


def observation(ques: str, replies: Sequence[str]) -> str:
    """What Auto-UI reads beside a screenshot: the action before, as it was understood, and the goal. In DigiRL's data
    `</s>` follows, which the tokenizer writes."""
    before = _understood(replies[-1]) if replies else ""
    return f"Previous Actions: {before}{' ' if before else ''}Goal: {ques}"


def _understood(reply: str) -> str:
    """A reply's decision, spelled anew; "" of one that says none."""
    said = reply.rpartition("Action Decision:")[2]
    kind, typed = _DECISION.search(said), _TYPED.search(said)
    if kind is None:
        return ""
    points = [match for name in _POINTS if (match := re.search(_POINT.format(name), said))]
    if kind[1] == "DUAL_POINT" and len(points) == len(_POINTS):
        return _spelled(kind[1], *(f"[{float(match[1]):.4f}, {float(match[2]):.4f}]" for match in points))
    if kind[1] == "TYPE" and typed:
        return _spelled(kind[1], typed=typed[1])
    return _spelled(kind[1]) if kind[1] in _PLAIN else ""


def _is_tap(touch: Point, lift: Point) -> bool:
    return (touch.x - lift.x) ** 2 + (touch.y - lift.y) ** 2 < TAP_PIXELS_SQUARED


def _share(point: Point, screen: Screen) -> str:
    return f"[{point.y / screen.viewport[1]:.4f}, {point.x / screen.viewport[0]:.4f}]"


def _spelled(kind: str, touch: str = _NO_POINT, lift: str = _NO_POINT, typed: str = "") -> str:
    return f'"action_type": "{kind}", "touch_point": "{touch}", "lift_point": "{lift}", "typed_text": "{typed}"'


SPACE = AutoUI()
