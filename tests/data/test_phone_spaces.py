"""The action spaces of phones: what each can say, the exact texts of those that others trained, and what they read."""

import pytest

from data.action_spaces import action_space, known_space
from data.action_spaces.autoui import observation
from data.action_spaces.space import CannotRenderError
from data.action_spaces.translate import Page, translate
from data.actions.action import ActionError, Answer, Click, GoBack, Restart, Scroll, Wait
from data.actions.point_action import ActionRecord, ClickAt, DragAt, GoTo, Press, ScrollAt, Write
from data.actions.screen import Point, Screen
from data.conversation import StepText

SCREEN = Screen((412, 915), (412, 915))
AT, THERE, MIDDLE = Point(103, 366), Point(206, 183), Point(206, 457.5)
ENTER = Press(("Enter",))
FLICK = DragAt(Point(206, 457.5), Point(206, 183))  # CogAgent's way up
SAID = [ClickAt(AT), DragAt(AT, THERE), FLICK, Write('a, "b" c'), GoBack(), Restart(), ENTER, Wait()]
SAID += [Write("a", AT, enter=True), ScrollAt(0, 457.5), ClickAt(AT, count=2), DragAt(AT, AT), GoTo("app:Clock")]
SAID += [DragAt(Point(205.5, 914), Point(205.5, 0)), DragAt(Point(411, 457), Point(0, 457))]
SAID += [Answer("success"), Answer("failure"), Answer("5 EUR")]


@pytest.mark.parametrize(("name", "num_said"), [("androidworld", 15), ("autoui", 11), ("cogagent", 8)])
def test_what_a_phones_space_writes_it_reads(name, num_said):
    """To a pixel, which its numbers may be short of; a scroll is written as a swipe where there is nothing else."""
    space, said = action_space(name), 0
    for action in SAID:
        try:
            [got] = space.parse(space.render("[DUAL_POINT]", [action], SCREEN), SCREEN).actions
        except CannotRenderError as error:
            assert name in str(error)
            continue
        if isinstance(action, ScrollAt) and name != "androidworld":
            continue
        said += 1
        assert type(got) is type(action)
        for field, value in vars(action).items():
            if isinstance(value, Point):
                there = getattr(got, field)
                assert abs(there.x - value.x) <= 0.5 and abs(there.y - value.y) <= 0.5
            else:
                assert getattr(got, field) == value
    assert said == num_said


def test_autouis_texts_are_those_it_was_trained_on():
    space = action_space("autoui")
    tap = (
        'Action Plan: [DUAL_POINT] ; Action Decision: "action_type": "DUAL_POINT", "touch_point": "[0.4000, 0.2500]", '
        '"lift_point": "[0.4000, 0.2500]", "typed_text": ""'
    )
    assert space.render("I look.", [ClickAt(AT)], SCREEN) == tap
    assert space.parse(tap, SCREEN).thought == "[DUAL_POINT]"
    plan = "[PRESS_HOME,DUAL_POINT,STATUS_TASK_COMPLETE]"
    home = space.render(plan, [Restart()], SCREEN)
    assert home == (
        f'Action Plan: {plan} ; Action Decision: "action_type": "PRESS_HOME", "touch_point": "[-1.0, -1.0]", '
        '"lift_point": "[-1.0, -1.0]", "typed_text": ""'
    )
    decision = tap.partition("Action Decision: ")[2]
    assert observation("Open it", []) == "Previous Actions: Goal: Open it"
    assert observation("Open it", [home, tap]) == f"Previous Actions: {decision} Goal: Open it"
    assert observation("Open it", ["nonsense"]) == "Previous Actions: Goal: Open it"


def test_a_finger_that_hardly_moves_taps():
    """Less than the square root of ten pixels; DigiRL's own limit."""
    space = action_space("autoui")

    def read(touch, lift):
        said = f'"action_type": "DUAL_POINT", "touch_point": "[{touch}]", "lift_point": "[{lift}]", "typed_text": ""'
        [action] = space.parse(f"Action Decision: {said}", SCREEN).actions
        return action

    assert read("0.5, 0.5", "0.5034, 0.5") == ClickAt(MIDDLE)  # 3.1 pixels
    assert isinstance(read("0.5, 0.5", "0.5036, 0.5"), DragAt)  # 3.3 pixels
    swipe = read("0.8, 0.5", "0.2, 0.5")
    assert (swipe.start, swipe.end) == (Point(206, 732), Point(206, 183))
    record = ActionRecord.of(space.name, space.scale, SCREEN, swipe)
    assert (record.kind, record.coordinates, record.model) == ("DragAt", "rel1", [[0.5, 0.8], [0.5, 0.2]])
    with pytest.raises(ActionError, match="outside of the screen"):
        read("1.5, 0.5", "0.5, 0.5")
    with pytest.raises(CannotRenderError):  # it would be read as a tap
        space.render("", [DragAt(MIDDLE, Point(206, 460))], SCREEN)


def test_autoui_is_asked_with_the_action_before_and_the_newest_screenshot():
    space = known_space({"action_space": "autoui"})
    back = space.render("", [GoBack()], SCREEN)
    steps = [StepText("", reply="?"), StepText("", "Nothing changed.", reply=back), StepText("")]
    asked = space.conversation("Find <image>", steps, 3)
    decision = back.partition("Action Decision: ")[2]
    assert [turn.text for turn in asked.turns] == [f"<image>\nPrevious Actions: {decision} Goal: Find < image>"]
    assert asked.image_steps == [3]
    learned = space.conversation("Find it", steps[:2], 3)
    assert [(turn.role, turn.text) for turn in learned.turns] == [
        ("user", "<image>\nPrevious Actions: Goal: Find it"),
        ("assistant", back),
    ]
    assert known_space({"action_space": "another project's"}) is known_space({})


@pytest.mark.parametrize(
    ("reply", "action"),
    [
        ("Thought: t\nAction: tap(5)\nSummary: I tapped.", Click(5)),
        ('Observation: o\nThought: t\nAction: text("it\'s")', Write("it's")),
        ('Thought: t\nAction: text("say \\"a\\", b")', Write('say "a", b')),
        ('Thought: t\nAction: swipe(21, "up", "medium")', Scroll(21, "down")),
        ('Thought: t\nAction: swipe(-1, "down", "long")', Scroll(None, "up")),
        ("Thought: t\nAction: FINISH", Answer("success")),
        ('Thought: t\nAction: answer("5 EUR")', Answer("5 EUR")),
        ("Thought: t\nAction: home()", Restart()),
        ("Thought: t\nAction: enter()", ENTER),
    ],
)
def test_appagents_functions(reply, action):
    space = action_space("appagent")
    parsed = space.parse(reply, None)
    assert (parsed.thought, parsed.actions) == ("t", (action,))
    assert space.parse(space.render("t", [action], None), None) == parsed
    with pytest.raises(ActionError, match=r"such as tap\(5\)"):
        space.parse(reply.replace("Action: ", "Action: then "), None)


def test_numbers_of_appagent_become_points_of_autoui():
    tree, boxes = "[1] RootWebArea 'Home'\n\t[2] link 'Clock'", {1: [0, 0, 412, 915], 2: [53, 346, 100, 40]}
    page = Page(SCREEN, boxes, tree, "http://phone.localhost:7070/start/0")
    there = translate("Thought: t\nAction: tap(2)", action_space("appagent"), action_space("autoui"), page)
    assert '"touch_point": "[0.4000, 0.2500]"' in there
    home = translate("Thought: t\nAction: home()", action_space("appagent"), action_space("autoui"), page)
    assert '"action_type": "PRESS_HOME"' in home


@pytest.mark.parametrize(
    ("reply", "action"),
    [
        ("Plan: a Next Action: t Grounded Operation: tap at the position [[250,400]] on it", ClickAt(AT)),
        ('Grounded Operation: type "a, \\"b\\""', Write('a, \\"b\\"')),
        ("Grounded Operation:\nswipe up", FLICK),
        ("Grounded Operation: Swipe Up", FLICK),
        ('Grounded Operation: Type "A b"', Write("A b")),
        ("Grounded Operation: task impossible", Answer("failure")),
    ],
)
def test_cogagents_operations(reply, action):
    assert action_space("cogagent").parse(reply, SCREEN).actions == (action,)


@pytest.mark.parametrize(
    ("reply", "action"),
    [
        ('Reason: r\nAction: {"action_type": "click", "x": 103, "y": 366}', ClickAt(AT)),
        ('{"action_type": "scroll", "direction": "down"}', ScrollAt(0, 457.5)),
        ('Action: {"action_type": "input_text", "text": "a", "x": 103, "y": 366}', Write("a", AT, enter=True)),
        ('Action: {"action_type": "swipe", "direction": "up"}', DragAt(Point(205.5, 914), Point(205.5, 0))),
        ('Action: {"action_type": "open_app", "app_name": "Clock"}', GoTo("app:Clock")),
        ('Action: {"action_type": "status", "goal_status": "infeasible"}', Answer("failure")),
        ('Action: {"action_type": "answer", "text": "5"}', Answer("5")),
    ],
)
def test_androidworlds_actions(reply, action):
    assert action_space("androidworld").parse(reply, SCREEN).actions == (action,)


@pytest.mark.parametrize(
    "action",
    [
        '"click", "index": 3',
        '"fly"',
        '"status", "goal_status": "?"',
        '"status", "goal_status": ["complete"]',
        '"status"',
        '"scroll"',
        '"scroll", "direction": ["down"]',
        '"swipe", "direction": {}',
        '"input_text", "text": 5',
    ],
)
def test_what_androidworld_cannot_use_says_why(action):
    with pytest.raises(ActionError):
        action_space("androidworld").parse(f'Action: {{"action_type": {action}}}', SCREEN)
