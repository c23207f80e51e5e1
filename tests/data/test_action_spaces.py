"""Every action space: what it writes it reads, and what a model may say in it."""

import contextlib
import json
import time

import pytest

from common.errors import UserError
from data.action_spaces import action_space, action_space_names
from data.action_spaces.space import CannotRenderError
from data.action_spaces.translate import Page, fold, translate
from data.actions.action import ActionError, Answer, Click, Drag, GoBack, Scroll, Type, Wait
from data.actions.point_action import (
    ActionRecord,
    ClickAt,
    CloseTab,
    DragAt,
    GoTo,
    HoverAt,
    OpenTab,
    Press,
    ScrollAt,
    SelectTab,
    Write,
)
from data.actions.screen import Point, Screen

SCREEN = Screen((1280, 1000), (1280, 1000))
AT, THERE = Point(640, 500), Point(320, 250)
TREE = "[1] RootWebArea 'Shop'\n\t[2] textbox 'Search'\n\t[3] button 'Go'\n\t[4] option 'Day return'\n\t[5] link 'Far'"
BOXES = {1: [0, 0, 10, 10], 2: [100, 100, 200, 40], 3: [320, 100, 60, 40], 4: [100, 200, 90, 20], 5: [0, 2000, 9, 9]}
PAGE = Page(SCREEN, BOXES, TREE, "http://shop/")
PHONES = ["androidworld", "autoui", "cogagent"]  # one finger and a few keys: tests/data/test_phone_spaces.py
BY_POINTS = [name for name in action_space_names() if action_space(name).scale and name not in PHONES]
SAID = [
    ClickAt(AT),
    ClickAt(AT, "left", 2),
    ClickAt(AT, "right"),
    HoverAt(AT),
    DragAt(THERE, AT),
    Write('it\'s "so" <b>\\', AT, replace=True, enter=True),
    Press(("Control", "c")),
    ScrollAt(0, 667),
    ScrollAt(0, -667, AT),
    ScrollAt(853, 0, AT),
    GoTo("http://shop/a"),
    GoBack(),
    Wait(),
    OpenTab(),
    SelectTab(1),
    CloseTab(),
    Answer("5 EUR, or\nless"),
]


def test_there_are_these_spaces():
    browsers = ["openwebrl", "qwen_computer_use", "ui_tars", "webgym", "webrl", "webvoyager"]
    assert action_space_names() == sorted([*browsers, *PHONES, "appagent"])
    with pytest.raises(UserError, match="openwebrl, qwen_computer_use"):
        action_space("qwen")


@pytest.mark.parametrize(
    ("name", "num_said"), [("openwebrl", 17), ("qwen_computer_use", 16), ("ui_tars", 16), ("webgym", 8)]
)
def test_what_a_space_writes_it_reads(name, num_said):
    """Or it says that it has no words for it; a wheel turned where nobody says is turned in the middle."""
    space, said = action_space(name), 0
    for action in SAID:
        try:
            reply = space.render("I think so.", [action], SCREEN)
        except CannotRenderError as error:
            assert name in str(error)
            continue
        said += 1
        parsed = space.parse(reply, SCREEN)
        assert parsed.thought.endswith("I think so.")
        [got] = fold(parsed.actions) if not isinstance(action, DragAt | HoverAt) else _dragged(parsed.actions)
        if isinstance(action, ScrollAt):
            at = {"ui_tars": AT, "webgym": None}.get(name, action.at)
            assert (got.right, got.down) == pytest.approx((action.right, action.down), abs=0.7) and got.at == at
        else:
            assert got == action
    assert said == num_said


def _dragged(actions):
    """Qwen moves the mouse to where a drag begins."""
    if len(actions) == 2 and isinstance(actions[0], HoverAt):
        return [DragAt(actions[0].at, actions[1].end)]
    return list(actions)


@pytest.mark.parametrize("name", action_space_names())
def test_a_prompt_names_what_the_parser_takes(name):
    prompt = action_space(name).prompt()
    words = {
        "androidworld": ["input_text", "navigate_home", "keyboard_enter", "goal_status", "app_name"],
        "appagent": ["tap(5)", 'swipe(5, "up", "medium")', "FINISH", 'text("'],
        "autoui": ["DUAL_POINT", "lift_point", "typed_text", "PRESS_ENTER", "STATUS_TASK_IMPOSSIBLE"],
        "cogagent": ["Grounded Operation: one", "tap at the position [[500,500]]", "press home", "task complete"],
        "openwebrl": ["click", "point_2d", "press_keys", "is_hotkey", "goto_url", "switch_tab", "tab_index", "done"],
        "qwen_computer_use": ["left_click_drag", "coordinate", "hscroll", "pixels", "terminate", "1000x1000"],
        "ui_tars": ["<point>", "right_single", "start_point", "finished(content="],
        "webgym": ["computer_use", "left_click", "go_back", "navigate", "direction"],
        "webrl": [
            'do(action="Select Dropdown Option", argument="text", element="id")',
            "go_backward()",
            "exit(message=",
        ],
        "webvoyager": ["Numerical_Label", "ANSWER"],
    }
    assert all(word in prompt for word in words[name])


@pytest.mark.parametrize("name", [*BY_POINTS, *PHONES])
@pytest.mark.parametrize(
    "reply",
    [
        "",
        "Thought: a\nAction: Click [4]",
        "<tool_call>{</tool_call>",
        "<tool_call>[1]</tool_call>",
        '<tool_call>{"name": "computer_use", "arguments": {"action": "fly"}}</tool_call>',
        '<tool_call>{"name": "click", "arguments": {"point_2d": "here"}}</tool_call>',
        '<tool_call>{"name": "computer_use", "arguments": {"action": "left_click"}}</tool_call>',
        "<tool_call>" + "[" * 100_000 + "</tool_call>",
        "Thought: t\nAction: click(point='<point>here</point>')",
        "Thought: t\nAction: hotkey(key='hyper x')",
        "Thought: t\nAction: click(point='<point>1 2</point>') type(content='what would not be done')",
        "Thought: t\nAction: scroll(direction='sideways')",
    ],
)
def test_what_cannot_be_used_says_why(name, reply):
    with pytest.raises(ActionError) as error:
        action_space(name).parse(reply, SCREEN)
    assert 10 < len(str(error.value)) < 200


@pytest.mark.parametrize("name", action_space_names())
def test_long_replies_are_read_at_once(name):
    begun, far = time.process_time(), "\n" * 20_000 + "x"
    for reply in (f"Thought:{far}\nAction:{far}", f"<tool_call>{far}", f"Thought: a\n\nAction: Click [{'1' * 5000}]"):
        with contextlib.suppress(ActionError):
            action_space(name).parse(reply, SCREEN)
    assert time.process_time() - begun < 1


def test_several_calls_run_in_order():
    reply = "<think>Search.</think>" + "".join(
        f"\n<tool_call>\n{call}\n</tool_call>"
        for call in (
            '{"name": "click", "arguments": {"point_2d": [500, 500]}}',
            '{"name": "write", "arguments": {"message": "shoe"}}',
            '{"name": "press_keys", "arguments": {"keys": ["Enter"]}}',
        )
    )
    parsed = action_space("openwebrl").parse(reply, SCREEN)
    assert parsed.thought == "Search."
    assert parsed.actions == (ClickAt(AT), Write("shoe", replace=True), Press(("Enter",)))
    two = "Thought: t\nAction: click(start_box='(644,504)')\n\ntype(content='don't stop\\n')"
    assert action_space("ui_tars").parse(two, SCREEN).actions == (ClickAt(AT), Write("don't stop", enter=True))


@pytest.mark.parametrize("opening", ["<think>", ""])
def test_a_call_that_is_weighed_in_thinking_is_not_made(opening):
    """Thinking models' templates open the thoughts themselves."""
    space = action_space("openwebrl")
    weighed, made = (
        f'<tool_call>{{"name": "click", "arguments": {{"point_2d": {at}}}}}</tool_call>' for at in ([9, 9], [500, 500])
    )
    parsed = space.parse(f"{opening}Maybe {weighed} is better.</think>\n{made}", SCREEN)
    assert (parsed.thought, parsed.actions) == ("Maybe is better.", (ClickAt(AT),))
    assert space.parse(f"{opening}So: {made}</think>", SCREEN).actions == (ClickAt(AT),)  # the only one


@pytest.mark.parametrize(
    ("name", "reply"),
    [
        ("openwebrl", '<tool_call>{"name": "write", "arguments": {"message": "5 \\ud83d\\ude00 \\ud800"}}</tool_call>'),
        ("webrl", 'do(action="Type", argument="5 \\U0001f600 \\ud800", element="2")'),
    ],
)
def test_a_text_that_no_file_can_hold_is_written_otherwise(name, reply):
    assert action_space(name).parse(reply, SCREEN).actions[-1] == Write("5 \U0001f600 ?", replace=True)


def test_a_reason_can_be_written_whatever_it_quotes():
    with pytest.raises(ActionError) as error:
        action_space("openwebrl").parse(
            '<tool_call>{"name": "click", "arguments": {"point_2d": "\\ud800"}}</tool_call>', SCREEN
        )
    assert str(error.value).encode()


def test_keys_that_are_none_are_told_and_capitals_are_shortcuts():
    with pytest.raises(ActionError, match="There are no keys to press"):
        action_space("openwebrl").parse(
            '<tool_call>{"name": "press_keys", "arguments": {"keys": []}}</tool_call>', SCREEN
        )
    keys = json.dumps({"name": "press_keys", "arguments": {"keys": ["Tab"] * 40, "presses": 2}})
    with pytest.raises(ActionError, match="at most 60 keys, not 80"):
        action_space("openwebrl").parse(f"<tool_call>{keys}</tool_call>", SCREEN)
    reply = '<tool_call>{"name": "press_keys", "arguments": {"keys": ["Ctrl", "T"], "is_hotkey": true}}</tool_call>'
    assert action_space("openwebrl").parse(reply, SCREEN).actions == (OpenTab(),)


def test_a_record_keeps_what_was_said_and_where_that_is():
    space = action_space("ui_tars")
    [action] = space.parse("Thought: t\nAction: left_double(point='<point>644 504</point>')", SCREEN).actions
    assert ActionRecord.of(space.name, space.scale, SCREEN, action) == ActionRecord(
        space="ui_tars",
        kind="ClickAt",
        coordinates="px_resized(1288,1008)",
        model=[[644.0, 504.0]],
        css=[[640.0, 500.0]],
        viewport=[1280, 1000],
        screenshot=[1280, 1000],
        arguments={"button": "left", "count": 2},
    )


@pytest.mark.parametrize("name", BY_POINTS)
@pytest.mark.parametrize(
    "action", [Click(3), Type(2, "shoe"), Scroll(None, "down"), Wait(), GoBack(), Answer("5")], ids=str
)
def test_numbers_to_points_and_back(name, action):
    numbers, space = action_space("webvoyager"), action_space(name)
    reply = numbers.render("I look.", [action])
    there = translate(reply, numbers, space, PAGE)
    assert "I look." in there and numbers.parse(translate(there, space, numbers, PAGE)).actions == (action,)


@pytest.mark.parametrize("source", BY_POINTS)
@pytest.mark.parametrize("target", BY_POINTS)
def test_from_points_to_points(source, target):
    said = [Write("shoe", Point(200, 120), replace=True, enter=True)]
    reply = translate(
        action_space(source).render("I type.", said, SCREEN), action_space(source), action_space(target), PAGE
    )
    [got] = fold(action_space(target).parse(reply, SCREEN).actions)
    assert (got.content, got.replace, got.enter) == ("shoe", True, True)
    assert abs(got.at.x - 200) < 1.4 and abs(got.at.y - 120) < 1.1


def test_a_wheel_turned_on_an_element_is_not_turned_on_the_window():
    space = action_space("webgym")
    assert space.render("t", [ScrollAt(0, 667, AT)], SCREEN) == space.render("t", [ScrollAt(0, 667)], SCREEN)
    reply = "Thought: t\nAction: Scroll [2]; down"
    with pytest.raises(CannotRenderError, match="webgym has no ScrollAt"):
        translate(reply, action_space("webvoyager"), space, PAGE)


def test_what_has_no_words_is_told():
    numbers, qwen = action_space("webvoyager"), action_space("qwen_computer_use")
    for action, why in ((Click(9), "not known"), (Click(5), "outside of the window"), (Drag(2, 9), "not known")):
        with pytest.raises(CannotRenderError, match=why):
            translate(numbers.render("t", [action]), numbers, qwen, PAGE)
    for action, why in ((ClickAt(Point(900, 900)), "no element"), (Press(("Escape",)), "no numbered element")):
        with pytest.raises(CannotRenderError, match=why):
            translate(qwen.render("t", [action], SCREEN), qwen, numbers, PAGE)
    choosing = translate(numbers.render("t", [Click(4)]), numbers, qwen, PAGE)
    [chosen] = fold(qwen.parse(choosing, SCREEN).actions)
    assert (chosen.content, chosen.at.x, chosen.at.y) == ("Day return", pytest.approx(144.64), 210)


WEBRL = [
    ('do(action="Click", element="7")', [Click(7)]),
    ('do(action="Search", argument="a \\"b\\" \'c\'", element="1")', [Type(1, "a \"b\" 'c'")]),
    ('do(action="Type", argument="01/01/2023", element="22")', [Click(22), Write("01/01/2023", replace=True)]),
    ('do(action="Press Enter")', [Press(("Enter",))]),
    ('do(action="Scroll Down")', [Scroll(None, "down")]),
    ('do(action="Scroll Up")', [Scroll(None, "up")]),
    ('do(action="Switch Tab", argument="1")', [SelectTab(1)]),
    ('do(action="Wait")', [Wait()]),
    ("go_backward()", [GoBack()]),
    ('exit(message="5 EUR, or\\nless: größer")', [Answer("5 EUR, or\nless: größer")]),
]


@pytest.mark.parametrize(("code", "actions"), WEBRL)
def test_what_webrl_writes_it_reads(code, actions):
    space = action_space("webrl")
    assert space.render("I\nlook.", actions) == f"# Note: I look.\n{code}"
    parsed = space.parse(f"# Element: the link, top right\n# Note: I look.\n{code}\n")
    assert list(parsed.actions) == actions and parsed.thought == "Element: the link, top right I look."


@pytest.mark.parametrize(
    ("reply", "actions"),
    [
        ("```\ndo('Click', None, 7)\n```", [Click(7)]),
        ('do(action="Select Dropdown Option", argument="Month", element="20")', [Type(20, "Month")]),
        ('do(action="Click", element="1")\ndo(action="Click", element="2")', [Click(1)]),
        ('exit(message="two\nlines")', [Answer("two\nlines")]),
        ("exit()", [Answer("")]),
        ("Thought: do it.\n\nAction: go_backward()", [GoBack()]),
    ],
)
def test_what_webrls_models_also_write_is_read(reply, actions):
    assert list(action_space("webrl").parse(reply).actions) == actions


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        ("Thought: a\nAction: Click [4]", "holds no call"),
        ('do(action="Click", element=find_element("x"))', "Click takes an id of the HTML"),
        ('do(action="Type", element="4")', "Type takes a text"),
        ('do(action="Hover", element="4")', "'Hover' is not available"),
        ('do(action="Switch Tab", argument="next")', "number of a tab"),
        ("go_forward()", r"'go_forward\(\)' is not available"),
        ('do(action="exit")', "'exit' is not available"),
        (f'do(action="Click", element="{"9" * 5000}")', "Click takes an id of the HTML"),
        ('do(action="Click", element="4"', "not written as code"),
        ("do(" + "(" * 5000, "not written as code"),
    ],
)
def test_what_webrl_cannot_use_says_why(reply, why):
    with pytest.raises(ActionError, match=why):
        action_space("webrl").parse(reply)


def test_numbers_in_webrls_words_name_the_same_elements():
    """Also one that lies outside of the window."""
    numbers, webrl = action_space("webvoyager"), action_space("webrl")
    there = translate(numbers.render("I look.", [Click(5)]), numbers, webrl, PAGE)
    assert there == '# Note: I look.\ndo(action="Click", element="5")'
    assert numbers.parse(translate(there, webrl, numbers, PAGE)).actions == (Click(5),)
    with pytest.raises(CannotRenderError, match="webrl has no words for Drag"):
        translate(numbers.render("t", [Drag(2, 3)]), numbers, webrl, PAGE)
